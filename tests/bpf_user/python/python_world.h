// PythonWalkTest: made-up memory of an interpreter, and the walk along its frames.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "tests/bpf_user/bpf_as_user.h"

namespace profd {

inline constexpr std::uint64_t kThread = 0x7f00'0000'1000;  // the thread pointer
inline constexpr std::uint64_t kState = 0x5000'0000;
inline constexpr std::uint64_t kCode = 0x6000'0000;  // code objects are 0x1000 apart
inline constexpr std::uint32_t kPid = 1234;

inline profd_python_process Layout(profd_python_chain chain) {
  profd_python_process process{};
  process.slot = 0x318;
  process.chain = chain;
  process.thread_id = 152;
  process.current = 56;
  process.frame_bytes = 80;
  process.frame_previous = 8;
  process.frame_code = 0;
  process.frame_instruction = 56;
  process.frame_owner = 70;
  process.code_instructions = 192;
  process.code_version = 92;
  process.code_constant = 24;
  process.code_words = 2;
  process.code_name = 120;
  process.string_hash = 24;
  return process;
}

class PythonWalkTest : public testing::TestWithParam<bool> {
 protected:
  PythonWalkTest() : words_(sizeof(profd_sample_event) / 8 + 4096) {
    user_reset();
    user_set_memory(
        [](void* self, void* to, __u32 bytes, __u64 from) {
          return static_cast<PythonWalkTest*>(self)->Read(to, bytes, from);
        },
        this);
  }

  long Read(void* to, __u32 bytes, __u64 from) {
    ++reads_[from];
    for (__u32 i = 0; i < bytes; ++i) {
      const auto byte = memory_.find(from + i);
      if (byte == memory_.end()) return -14;
      static_cast<std::uint8_t*>(to)[i] = byte->second;
    }
    return 0;
  }
  template <typename Value>
  void Put(std::uint64_t address, Value value) {
    std::uint8_t bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    for (std::size_t i = 0; i < sizeof(value); ++i) memory_[address + i] = bytes[i];
  }
  void Zero(std::uint64_t address, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) memory_[address + i] = 0;
  }

  void Thread(const profd_python_process& process) {
    Put(kThread + static_cast<std::uint64_t>(process.slot), kState);
    Put(kState + process.thread_id, kThread);
  }
  void Code(int number, std::uint32_t version) { Put(CodeOf(number) + 92, version); }
  static std::uint64_t CodeOf(int number) {
    return kCode + 0x1000 * static_cast<std::uint64_t>(number);
  }
  // A frame of 3.11 and later that is at byte `instruction` of its code.
  void Frame(std::uint64_t address, int code, std::uint64_t previous, std::uint32_t instruction,
             std::uint8_t owner) {
    Zero(address, 80);
    Put(address, CodeOf(code));
    Put(address + 8, previous);
    Put(address + 56, CodeOf(code) + 192 + instruction);
    Put(address + 70, owner);
  }

  // The words of the Python part.
  std::vector<std::uint64_t> Walk(const profd_python_process& process, std::uint32_t parent = 0,
                                  std::uint64_t futex = 0) {
    return Walk(std::vector{process}, parent, futex);
  }
  std::vector<std::uint64_t> Walk(const std::vector<profd_python_process>& runtimes,
                                  std::uint32_t parent = 0, std::uint64_t futex = 0) {
    user_set_python(parent != 0 ? parent : kPid, runtimes.data(),
                    static_cast<std::uint32_t>(runtimes.size()));
    std::memset(words_.data(), 0xaa, words_.size() * 8);
    event()->event.pid = kPid;
    event()->kernel_frames = 2;
    event()->user_frames = 3;
    event()->cfas = 1;
    event()->syscall_args[0] = futex;
    event()->python_words = 0;
    event()->python_flags = 0;
    woken_ = user_walk_python(event(), kThread, parent, GetParam() ? 1 : 0) != 0;
    return {event()->frames + 6, event()->frames + 6 + event()->python_words};
  }
  profd_sample_event* event() { return reinterpret_cast<profd_sample_event*>(words_.data()); }

  static std::uint64_t At(std::uint64_t validator, std::uint32_t instruction) {
    return validator << 32 | instruction;
  }

  std::map<std::uint64_t, std::uint8_t> memory_;
  std::map<std::uint64_t, int> reads_;  // by where they begin
  std::vector<std::uint64_t> words_;
  bool woken_ = false;  // by the last walk
};

inline constexpr std::uint64_t kAnchor = PROFD_PYTHON_ANCHOR;

}  // namespace profd
