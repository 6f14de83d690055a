// What mapped_library.c calls, and how it is entered.
#pragma once

struct world {
  void (*report)(void* return_address);
  void (*block)(void);
};

typedef long (*enter_function)(const struct world* world, long value);

// Blocks two calls further down; each function reports where it returns to, the outermost first.
long Enter(const struct world* world, long value);
