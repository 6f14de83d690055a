// A library with one function of each kind that a symbol table knows.
__attribute__((noinline)) static int fixture_local(int value) { return value * 3; }

int __fixture_aliased(int value) { return fixture_local(value) + 1; }
int fixture_aliased(int value) __attribute__((weak, alias("__fixture_aliased")));

int fixture_exported(int value) { return fixture_aliased(value) + fixture_local(value); }

int fixture_variable = 1;

typedef int (*fixture_function)(int);
static fixture_function fixture_choose(void) { return fixture_exported; }
int fixture_ifunc(int value) __attribute__((ifunc("fixture_choose")));

// As written by hand: a function without a size, with a label inside, and code without a type.
__asm__(
    ".text\n"
    ".globl fixture_no_size\n"
    ".type fixture_no_size, @function\n"
    "fixture_no_size:\n"
    "  nop\n"
    "fixture_label_inside:\n"
    "  ret\n"
    // Without a size, but it is known where it ends.
    ".globl fixture_frame\n"
    ".type fixture_frame, @function\n"
    "fixture_frame:\n"
    "  .cfi_startproc\n"
    "  nop\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".globl fixture_no_type\n"
    "fixture_no_type:\n"
    "  ret\n"
    "  .skip 8, 0xcc\n");
