// A library that puts addresses of functions into its data by relocations of all kinds.
static int first_hidden(int value) { return value + 1; }
static int second_hidden(int value) { return value * 3; }
static int lonely_hidden(int value) { return value * 5; }
int exported(int value) { return value * 7; }

// Relative: many words in a row, and one elsewhere.
int (*const kTable[])(int) = {first_hidden, second_hidden, first_hidden};
struct {
  long number[100];
  int (*function)(int);
} lonely = {{1}, lonely_hidden};
// By a symbol, and a distance from it.
int (*const kExported)(int) = exported;
const char* const kInside = (const char*)exported + 2;
