// What the two units of the fixture share.
#pragma once

namespace fixture {

[[gnu::always_inline]] inline int FromHeader(int value) {
  volatile int kept = value;
  return kept - 5;
}

int InlinesWork(int count);
int InlinesSort(int count);
int OtherUnit(int count);

}  // namespace fixture
