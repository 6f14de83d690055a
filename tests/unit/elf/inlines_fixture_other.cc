#include "tests/unit/elf/inlines_fixture.h"

namespace fixture {

int OtherUnit(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += FromHeader(sum);
  return sum;
}

}  // namespace fixture
