// UnwindWorld: a process to walk: mappings, unwind tables, registers and stack bytes, and what the
// walk found, as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/bpf_user/bpf_as_user.h"

namespace profd {

// Rules, as short as they can be written.
profd_unwind_rule CfaAt(std::uint8_t cfa_register, std::int32_t offset);
profd_unwind_rule Deref(std::uint8_t cfa_register, std::int32_t offset, std::int32_t add);
profd_unwind_rule OfKind(profd_cfa_kind kind, std::int32_t offset = 0, std::int32_t add = 0);
profd_unwind_rule Saving(profd_unwind_rule rule, profd_saved_register saved, std::int16_t words);

inline constexpr std::uint8_t kRax = 0, kRbx = 3, kRsi = 4, kRdi = 5, kRbp = 6, kRsp = 7, kR10 = 10,
                              kR12 = 12;

// One file is mapped at kText with its tables, and a stack at kStack. A row holds from its address
// on; rules are numbered from 1 in the order in which they are given.
class UnwindWorld {
 public:
  static constexpr std::uint64_t kText = 0x400000;
  static constexpr std::uint64_t kTextBytes = 0x20000;
  static constexpr std::uint64_t kJit = 0x700000;  // anonymous and executable
  static constexpr std::uint64_t kStack = 0x7ffc'0000'0000;
  static constexpr std::uint64_t kStackBytes = 0x10000;

  UnwindWorld();
  UnwindWorld(const UnwindWorld&) = delete;
  UnwindWorld& operator=(const UnwindWorld&) = delete;

  // `rows`: address -> rule, all in the first chunk.
  void Publish(const std::map<std::uint64_t, profd_unwind_rule>& rows, std::uint32_t flags = 0);
  // The words of the stack from `address` up.
  void Stack(std::uint64_t address, const std::vector<std::uint64_t>& words);
  void Set(std::uint8_t number, std::uint64_t value) { registers_.value[number] = value; }

  // "400010 400123 | complete": frames leaf first, `!` exact, `?` uncertain; then the flags.
  std::string Walk(std::uint64_t pc, bool task_reader = false, bool is_64_bit = true);

  [[nodiscard]] profd_sample_event* event();
  [[nodiscard]] const profd_file_key& key() const { return key_; }
  [[nodiscard]] std::vector<std::uint64_t> Frames();
  [[nodiscard]] bool GuardIsWhole() const;
  void SetKernelFrames(std::uint16_t count) { kernel_frames_ = count; }
  void SetSyscall(std::int32_t number) { syscall_ = number; }

 private:
  static constexpr std::size_t kGuard = 64;
  long Read(void* to, __u32 bytes, __u64 from) const;

  profd_file_key key_{};
  user_registers registers_{};
  std::map<std::uint64_t, std::uint64_t> memory_;
  std::vector<std::uint64_t> bytes_;
  std::uint16_t kernel_frames_ = 0;
  std::int32_t syscall_ = -1;
};

// Pages of the pool that Publish uses.
inline constexpr std::uint32_t kIndexPage = 1, kRulesPage = 2, kChunkPage = 4;

}  // namespace profd
