#include "tests/bpf_user/unwind_world.h"

#include <array>
#include <cstring>
#include <sstream>
#include <utility>

namespace profd {
namespace {

constexpr std::size_t kMaxWords =
    sizeof(profd_sample_event) / 8 + PROFD_MAX_FRAMES + PROFD_MAX_USER_FRAMES;
constexpr std::uint32_t kPageUnits = PROFD_POOL_PAGE_BYTES / PROFD_PLACE_UNIT;

std::string FlagNames(std::uint16_t flags) {
  constexpr std::array<std::pair<int, const char*>, 11> kNames{{
      {PROFD_STACK_COMPLETE, " complete"},
      {PROFD_STACK_USER_TRUNCATED, " truncated"},
      {PROFD_STACK_USER_FAULT, " fault"},
      {PROFD_STACK_TABLES_NOT_READY, " not-ready"},
      {PROFD_STACK_UNCERTAIN, " uncertain"},
      {PROFD_STACK_NO_MAPPING, " no-mapping"},
      {PROFD_STACK_REGISTER_LOST, " register-lost"},
      {PROFD_STACK_NO_PROGRESS, " no-progress"},
      {PROFD_STACK_NO_FRAME_POINTER, " no-frame-pointer"},
      {PROFD_STACK_32_BIT, " 32-bit"},
      {PROFD_STACK_NO_USER, " no-user"},
  }};
  std::string text;
  for (const auto& [flag, name] : kNames)
    if ((flags & flag) != 0) text += name;
  return text;
}

}  // namespace

profd_unwind_rule OfKind(profd_cfa_kind kind, std::int32_t offset, std::int32_t add) {
  profd_unwind_rule rule{};
  rule.cfa = static_cast<std::uint8_t>(kind);
  rule.cfa_register = kRsp;
  rule.offset = offset;
  rule.add = add;
  for (__s16& saved : rule.saved) saved = PROFD_SAME;
  rule.return_address = -1;
  return rule;
}

profd_unwind_rule CfaAt(std::uint8_t cfa_register, std::int32_t offset) {
  profd_unwind_rule rule = OfKind(PROFD_CFA_REGISTER, offset);
  rule.cfa_register = cfa_register;
  return rule;
}

profd_unwind_rule Deref(std::uint8_t cfa_register, std::int32_t offset, std::int32_t add) {
  profd_unwind_rule rule = OfKind(PROFD_CFA_DEREF, offset, add);
  rule.cfa_register = cfa_register;
  return rule;
}

profd_unwind_rule Saving(profd_unwind_rule rule, profd_saved_register saved, std::int16_t words) {
  rule.saved[saved] = words;
  return rule;
}

UnwindWorld::UnwindWorld() : bytes_(kMaxWords + kGuard / 8) {
  user_reset();
  user_control()->tick = 7;
  user_set_memory(
      [](void* self, void* to, __u32 bytes, __u64 from) {
        return static_cast<const UnwindWorld*>(self)->Read(to, bytes, from);
      },
      this);
  key_ = {.inode = 5, .size = kTextBytes, .mtime_ns = 1'000'000'007, .device = 9, .generation = 3};
  const std::vector<user_mapping> mappings{
      {kText, kText + kTextBytes, 0x3000, 1, 1, 0, key_},
      {kJit, kJit + 0x1000, 0, 1, 0, 0, {}},
      {kStack, kStack + kStackBytes, 0, 0, 0, 0, {}},
  };
  user_set_mappings(mappings.data(), static_cast<__u32>(mappings.size()),
                    kStack + kStackBytes - 0x100);
  registers_.value[kRsp] = kStack;
}

void UnwindWorld::Publish(const std::map<std::uint64_t, profd_unwind_rule>& rows,
                          std::uint32_t flags) {
  auto* rules = static_cast<profd_unwind_rule*>(user_pool_page(kRulesPage));
  auto* chunk = static_cast<profd_chunk*>(user_pool_page(kChunkPage));
  auto* row = reinterpret_cast<profd_unwind_row*>(chunk + 1);
  std::uint16_t count = 0;
  std::uint16_t rule = 0;
  auto next = rows.begin();
  std::uint16_t in_force = 0;
  for (std::uint32_t block = 0; block < PROFD_CHUNK_BLOCKS; ++block) {
    chunk->first_row[block] = count;
    const std::uint32_t begin = block << PROFD_BLOCK_SHIFT;
    row[count++] = {static_cast<std::uint16_t>(begin), in_force};
    for (; next != rows.end(); ++next) {
      const auto offset = static_cast<std::uint32_t>(next->first - kText + 0x3000);
      if (offset >= begin + (1u << PROFD_BLOCK_SHIFT)) break;
      rules[++rule] = next->second;
      in_force = rule;
      if (row[count - 1].offset == offset) --count;
      row[count++] = {static_cast<std::uint16_t>(offset), rule};
    }
  }
  chunk->first_row[PROFD_CHUNK_BLOCKS] = count;
  auto* index = static_cast<profd_chunk_ref*>(user_pool_page(kIndexPage));
  index[0].place = kChunkPage * kPageUnits;
  *user_unwind_file(2) = {.flags = PROFD_FILE_PRESENT | flags,
                          .index = kIndexPage * kPageUnits,
                          .first_chunk = 0,
                          .chunks = 3,
                          .rules = kRulesPage * kPageUnits,
                          .rule_count = rule + 1u,
                          .last_used = 0,
                          .reserved = 0};
  user_set_file(&key_, 2);
}

void UnwindWorld::Stack(std::uint64_t address, const std::vector<std::uint64_t>& words) {
  for (const std::uint64_t word : words) {
    memory_[address] = word;
    address += 8;
  }
}

long UnwindWorld::Read(void* to, __u32 bytes, __u64 from) const {
  auto* out = static_cast<std::uint8_t*>(to);
  for (__u32 i = 0; i < bytes; i += 8) {
    const auto word = memory_.find(from + i);
    if (word == memory_.end()) return -14;
    std::memcpy(out + i, &word->second, 8);
  }
  return 0;
}

profd_sample_event* UnwindWorld::event() {
  return reinterpret_cast<profd_sample_event*>(bytes_.data());
}

std::string UnwindWorld::Walk(std::uint64_t pc, bool task_reader, bool is_64_bit) {
  std::memset(bytes_.data(), 0xaa, bytes_.size() * 8);
  event()->event.pid = 1234;
  event()->kernel_frames = kernel_frames_;
  event()->syscall = syscall_;
  event()->stack_flags = 0;
  event()->missing_stack_bytes = 0;
  registers_.pc = pc;
  user_walk(event(), &registers_, is_64_bit ? 1 : 0, task_reader ? 1 : 0);
  std::ostringstream text;
  text << std::hex;
  std::size_t index = 0;
  for (const std::uint64_t frame : Frames()) {
    const bool exact = frame >> 56 == PROFD_FRAME_EXACT >> 56;
    text << (exact ? frame & ~PROFD_FRAME_EXACT : frame) << (exact ? "!" : "")
         << (index++ >= event()->uncertain_from ? "?" : "") << ' ';
  }
  text << '|' << FlagNames(event()->stack_flags);
  return text.str();
}

std::vector<std::uint64_t> UnwindWorld::Frames() {
  const __u64* first = event()->frames + event()->kernel_frames;
  return {first, first + event()->user_frames};
}

bool UnwindWorld::GuardIsWhole() const {
  for (std::size_t i = kMaxWords; i < bytes_.size(); ++i)
    if (bytes_[i] != 0xaaaa'aaaa'aaaa'aaaa) return false;
  return true;
}

}  // namespace profd
