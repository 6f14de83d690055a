// PROFD_NAMED: marks a function that a profile must show by this name, with its caller below it.
#pragma once

// No inlining, no cloning, no folding of two functions that happen to have the same body.
#if defined(__clang__)
#define PROFD_NAMED __attribute__((noinline, optnone))
#else
#define PROFD_NAMED __attribute__((noipa))
#endif
