#include "tests/testprogs/numbered_stack.h"

#include "tests/testprogs/named_function.h"

namespace profd::testprog {

PROFD_NAMED void Left(std::uint64_t path, std::uint32_t depth);
PROFD_NAMED void Right(std::uint64_t path, std::uint32_t depth);

void RunNumberedStack(std::uint64_t path, std::uint32_t depth) {
  if (depth == 0) return;
  if ((path & 1) != 0)
    Left(path >> 1, depth - 1);
  else
    Right(path >> 1, depth - 1);
}
void Left(std::uint64_t path, std::uint32_t depth) {
  RunNumberedStack(path, depth);
  asm volatile("" ::: "memory");
}
void Right(std::uint64_t path, std::uint32_t depth) {
  RunNumberedStack(path, depth);
  asm volatile("" ::: "memory");
}

}  // namespace profd::testprog
