// Functions inlined into each other, through templates and from another unit's header.
#include "tests/unit/elf/inlines_fixture.h"

#include <algorithm>
#include <string>
#include <vector>

namespace fixture {
namespace {

[[gnu::always_inline]] inline int Innermost(int value) {
  volatile int kept = value;
  return kept * 3 + 1;
}

template <typename T>
[[gnu::always_inline]] inline T Twice(T value) {
  return Innermost(value) + Innermost(value + 1);
}

struct Adder {
  int sum = 0;
  [[gnu::always_inline]] void Add(int value) { sum += Twice(value) + FromHeader(value); }
};

}  // namespace

int InlinesWork(int count) {
  Adder adder;
  for (int i = 0; i < count; ++i) {
    const auto add = [&adder](int value) { adder.Add(value); };
    if (i % 7 == 0) {
      add(i);
    } else {
      adder.Add(-i);
    }
  }
  return adder.sum;
}

int InlinesSort(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(std::to_string(InlinesWork(i)));
  std::sort(names.begin(), names.end());
  return static_cast<int>(names.size()) + OtherUnit(count);
}

}  // namespace fixture
