#include "daemon/wire/packed_words.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "bpf/shared/events.h"

namespace profd::wire {
namespace {

constexpr std::uint64_t kBit60 = std::uint64_t{1} << 60;
constexpr std::uint32_t kNoInstruction = 0x7fff'ffff;  // of two units

constexpr std::uint64_t HalfOf(int bits) { return std::uint64_t{1} << (bits - 1); }

class Units {
 public:
  explicit Units(Bytes from) : from_(from) {}

  // The next `count`, the first of them lowest; false when they are not all there.
  bool Take(std::size_t count, std::uint64_t& value) {
    const std::size_t bytes = count * sizeof(std::uint16_t);
    if (bytes > from_.size()) return false;
    value = 0;
    std::memcpy(&value, from_.data(), bytes);
    from_ = from_.subspan(bytes);
    return true;
  }

  // `more` units on top of `value`, which holds `count`.
  bool TakeMore(std::size_t count, std::size_t more, std::uint64_t& value) {
    std::uint64_t upper = 0;
    if (!Take(more, upper)) return false;
    value |= upper << (16 * count);
    return true;
  }

 private:
  Bytes from_;
};

// Numbers that are encoded as their difference to the one before with the same bit 63.
class Numbers {
 public:
  bool Take(Units& units, std::uint64_t& number) {
    std::uint64_t value = 0;
    if (!units.Take(1, value)) return false;
    const std::uint64_t high = value & 1;
    std::uint64_t& previous = previous_.at(high);
    if ((value & 2) == 0) {
      number = previous + (value >> 2) - HalfOf(PROFD_UNIT_BITS);
    } else if ((value & 4) == 0) {
      if (!units.TakeMore(1, 1, value)) return false;
      number = previous + (value >> 3) - HalfOf(PROFD_TWO_UNITS_BITS);
    } else {
      if (!units.TakeMore(1, 3, value)) return false;
      number = value >> 3 | high << 63;
      if ((number & kBit60) != 0) number |= kBit60 << 1 | kBit60 << 2;
    }
    previous = number;
    return true;
  }

  void Skip(std::uint64_t by) { previous_[0] += by; }

 private:
  std::array<std::uint64_t, 2> previous_{};
};

// The second word of a Python frame.
bool TakeSecond(Units& units, std::uint64_t& word) {
  std::uint64_t validator = 0;
  std::uint64_t instruction = 0;
  if (!units.Take(2, validator) || !units.Take(1, instruction)) return false;
  if ((instruction & 1) != 0 && !units.TakeMore(1, 1, instruction)) return false;
  instruction >>= 1;
  if (instruction == kNoInstruction) instruction = PROFD_PYTHON_NO_INSTRUCTION;
  word = validator << 32 | instruction;
  return true;
}

void ReadPacked(const profd_sample_event& fixed, Bytes tail, std::vector<std::uint64_t>& words) {
  const std::size_t frames = std::size_t{fixed.kernel_frames} + fixed.user_frames;
  const std::size_t python = frames + fixed.cfas;
  const std::size_t count = python + fixed.python_words;
  words.reserve(words.size() + std::min(count, tail.size() / sizeof(std::uint16_t)));
  Units units(tail);
  Numbers numbers;
  std::uint64_t word = 0;
  bool second = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (second) {
      second = false;
      if (!TakeSecond(units, word)) return;
    } else {
      if (i >= frames && i < python) numbers.Skip(std::uint64_t{1} << PROFD_CFA_INDEX_SHIFT);
      if (!numbers.Take(units, word)) return;
      second = i >= python && (word & PROFD_PYTHON_ANCHOR) == 0;
    }
    words.push_back(word);
  }
}

}  // namespace

void ReadWords(const profd_sample_event& fixed, Bytes tail, std::vector<std::uint64_t>& words) {
  if ((fixed.event.flags & PROFD_SAMPLE_PACKED) != 0) return ReadPacked(fixed, tail, words);
  const std::size_t count =
      std::size_t{fixed.kernel_frames} + fixed.user_frames + fixed.cfas + fixed.python_words;
  ReadNumbers(tail, std::min(count, tail.size() / sizeof(std::uint64_t)), words);
}

}  // namespace profd::wire
