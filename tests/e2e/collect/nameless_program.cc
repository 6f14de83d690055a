// Runs until it is killed, half of its time in a function, the other half in a virtual one.
#include <cstdio>

namespace work {

// Long, so that samples are at many addresses.
__attribute__((noinline)) unsigned Grind(unsigned value) {
  for (unsigned i = 0; i < 100'000; ++i) {
    value = value * 1'664'525 + 1'013'904'223;
    value ^= value >> (value % 7 + 1);
    value += value / (i % 5 + 1);
  }
  return value;
}

template <typename T>
class Mill {
 public:
  virtual ~Mill() = default;
  __attribute__((noinline)) virtual T Turn(unsigned value);
};

template <typename T>
T Mill<T>::Turn(unsigned value) {
  T sum = 0;
  for (unsigned i = 0; i < 100'000; ++i) sum += static_cast<T>(value % (i + 1)) / 3;
  return sum;
}

}  // namespace work

int main() {
  work::Mill<float> mill;
  work::Mill<float>* volatile any = &mill;
  volatile unsigned value = 1;
  std::puts("ready");
  std::fflush(stdout);
  for (;;) value = work::Grind(value) + static_cast<unsigned>(any->Turn(value));
}
