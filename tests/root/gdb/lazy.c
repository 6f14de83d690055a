/* A function whose address is found when it is first called, by a resolver that blocks. */
static long (*block)(void);

int profd_late(void);
static int found(void) { return 1; }
static int (*find(void))(void) {
  if (block) block();
  return found;
}
int profd_late(void) __attribute__((ifunc("find")));

int profd_call_lazily(long (*blocks)(void));
int profd_call_lazily(long (*blocks)(void)) {
  block = blocks;
  return profd_late() + 1;
}
