#include "tests/bpf_user/recorded_walk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <utility>

#include "daemon/unwind/cfi/frame_rule.h"
#include "daemon/unwind/tables/chunk_builder.h"

namespace profd {
namespace {

constexpr std::array<const char*, 16> kRegisters{"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                 "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                 "r12", "r13", "r14", "r15"};
constexpr std::array<const char*, 6> kKinds{"none", "register", "deref", "plt", "signal", "end"};
constexpr std::uint32_t kPageUnits = PROFD_POOL_PAGE_BYTES / PROFD_PLACE_UNIT;
constexpr std::array<std::pair<int, const char*>, 7> kEnds{{
    {PROFD_STACK_COMPLETE, " complete"},
    {PROFD_STACK_USER_TRUNCATED, " truncated"},
    {PROFD_STACK_USER_FAULT, " fault"},
    {PROFD_STACK_UNCERTAIN, " uncertain"},
    {PROFD_STACK_NO_MAPPING, " no-mapping"},
    {PROFD_STACK_REGISTER_LOST, " register-lost"},
    {PROFD_STACK_NO_FRAME_POINTER, " no-frame-pointer"},
}};

template <typename Names>
std::size_t IndexOf(const Names& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::string SavedText(std::int16_t saved) {
  if (saved == PROFD_SAME) return "same";
  return saved == PROFD_LOST ? "lost" : std::to_string(saved);
}
std::int16_t SavedOf(const std::string& text) {
  if (text == "same") return PROFD_SAME;
  return text == "lost" ? std::int16_t{PROFD_LOST} : static_cast<std::int16_t>(std::stoi(text));
}

void WriteRow(std::ostream& out, const RecordedWalk::Row& row) {
  const profd_unwind_rule& rule = row.rule;
  out << "row " << std::dec << row.mapping << std::hex << ' ' << row.begin << ' ' << row.end << ' '
      << std::dec << kKinds[rule.cfa] << ' ' << kRegisters[rule.cfa_register] << ' ' << rule.offset
      << ' ' << rule.add << ' ' << int{rule.flags} << ' ' << rule.return_address;
  for (const std::int16_t saved : rule.saved) out << ' ' << SavedText(saved);
  out << '\n';
}

bool ReadRow(std::istringstream& in, RecordedWalk::Row& row) {
  std::string kind;
  std::string reg;
  int flags = 0;
  in >> std::dec >> row.mapping >> std::hex >> row.begin >> row.end >> kind >> reg >> std::dec >>
      row.rule.offset >> row.rule.add >> flags >> row.rule.return_address;
  for (__s16& saved : row.rule.saved) {
    std::string text;
    if (!(in >> text)) return false;
    saved = SavedOf(text);
  }
  row.rule.cfa = static_cast<__u8>(IndexOf(kKinds, kind));
  row.rule.cfa_register = static_cast<__u8>(IndexOf(kRegisters, reg));
  row.rule.flags = static_cast<__u8>(flags);
  return row.rule.cfa < kKinds.size() && row.rule.cfa_register < kRegisters.size();
}

// The rows of one mapping's file, each mapping as a file of its own; from `page` of the pool on.
void Publish(const RecordedWalk& walk, std::size_t mapping, std::uint32_t& page) {
  std::map<std::uint64_t, std::vector<unwind::Row>> chunks;
  for (const RecordedWalk::Row& row : walk.rows) {
    if (row.mapping != mapping) continue;
    const std::uint64_t begin = row.begin / unwind::kChunkBytes * unwind::kChunkBytes;
    auto& rows = chunks[begin];
    if (rows.empty()) rows.push_back({begin, unwind::kNoRule});
    if (rows.back().offset == row.begin) rows.pop_back();
    rows.push_back({row.begin, row.rule});
    if (row.end < begin + unwind::kChunkBytes) rows.push_back({row.end, unwind::kNoRule});
  }
  const auto index = static_cast<__u32>(mapping);
  profd_unwind_file& file = *user_unwind_file(index);
  const profd_file_key key{
      .inode = mapping + 10, .size = 1, .mtime_ns = 2, .device = 3, .generation = 4};
  user_set_file(&key, index);
  file = {};
  file.flags = PROFD_FILE_PRESENT | (chunks.empty() ? PROFD_FILE_NO_TABLES : 0);
  if (chunks.empty()) return;
  file.first_chunk = static_cast<__u32>(chunks.begin()->first >> PROFD_CHUNK_SHIFT);
  file.chunks =
      static_cast<__u32>(chunks.rbegin()->first >> PROFD_CHUNK_SHIFT) - file.first_chunk + 1;
  const std::uint32_t index_page = page;
  file.index = index_page * kPageUnits;
  constexpr auto kRefs =
      static_cast<std::uint32_t>(PROFD_POOL_PAGE_BYTES / sizeof(profd_chunk_ref));
  page += file.chunks / kRefs + 1;
  unwind::RuleTable rules({});
  for (const auto& [begin, rows] : chunks) {
    const auto packed = unwind::PackChunk(rows, begin, rules);
    const auto number = static_cast<std::uint32_t>(begin >> PROFD_CHUNK_SHIFT) - file.first_chunk;
    auto* refs = static_cast<profd_chunk_ref*>(user_pool_page(index_page + number / kRefs));
    refs[number % kRefs].place = packed.bytes.empty() ? PROFD_CHUNK_EMPTY : page * kPageUnits;
    if (packed.bytes.empty()) continue;
    std::memcpy(user_pool_page(page++), packed.bytes.data(), packed.bytes.size());
  }
  file.rules = page * kPageUnits;
  file.rule_count = static_cast<__u32>(rules.rules().size());
  std::memcpy(user_pool_page(page++), rules.rules().data(),
              rules.rules().size() * sizeof(profd_unwind_rule));
}

void SetUp(const RecordedWalk& walk) {
  user_reset();
  user_control()->tick = 1;
  std::vector<user_mapping> mappings;
  std::uint32_t page = 1;
  for (std::size_t i = 0; i < walk.mappings.size(); ++i) {
    const auto& [begin, end, file_offset, name] = walk.mappings[i];
    const bool code = name != "-";
    mappings.push_back({begin,
                        end,
                        file_offset,
                        code ? 1 : 0,
                        code ? 1 : 0,
                        0,
                        {.inode = i + 10, .size = 1, .mtime_ns = 2, .device = 3, .generation = 4}});
    if (code) Publish(walk, i, page);
  }
  user_set_mappings(mappings.data(), static_cast<__u32>(mappings.size()), 0);
}

std::string NameOf(const RecordedWalk& walk, std::uint64_t address) {
  std::ostringstream text;
  text << std::hex;
  for (const auto& mapping : walk.mappings) {
    if (address < mapping.begin || address >= mapping.end) continue;
    text << mapping.name << '+' << address - mapping.begin + mapping.file_offset;
    return text.str();
  }
  text << address;
  return text.str();
}

}  // namespace

ReplayedWalk Replay(const RecordedWalk& walk, bool task_reader, const WordReader& memory) {
  const WordReader recorded = [&walk](std::uint64_t address, std::uint64_t& word) {
    const auto found = walk.words.find(address);
    if (found == walk.words.end()) return false;
    word = found->second;
    return true;
  };
  const WordReader& reader = memory ? memory : recorded;
  SetUp(walk);
  user_set_memory(
      [](void* context, void* to, __u32 bytes, __u64 from) -> long {
        for (__u32 i = 0; i < bytes; i += 8) {
          std::uint64_t word = 0;
          if (!(*static_cast<const WordReader*>(context))(from + i, word)) return -14;
          std::memcpy(static_cast<std::byte*>(to) + i, &word, sizeof word);
        }
        return 0;
      },
      const_cast<WordReader*>(&reader));
  std::vector<std::uint64_t> bytes(sizeof(profd_sample_event) / 8 + PROFD_MAX_FRAMES +
                                   PROFD_MAX_USER_FRAMES);
  auto& event = *reinterpret_cast<profd_sample_event*>(bytes.data());
  user_walk(&event, &walk.registers, 1, task_reader ? 1 : 0);

  ReplayedWalk replayed;
  std::ostringstream text;
  for (std::uint32_t i = 0; i < event.user_frames; ++i) {
    const std::uint64_t frame = event.frames[i];
    const bool exact = i == 0 || (frame & PROFD_FRAME_EXACT) != 0;
    const std::uint64_t address = frame & ~PROFD_FRAME_EXACT;
    replayed.looked_up.push_back(exact ? address : address - 1);
    text << "frame " << NameOf(walk, address) << (exact ? "!" : "")
         << (i >= event.uncertain_from ? "?" : "") << '\n';
  }
  text << "end";
  for (const auto& [flag, name] : kEnds)
    if ((event.stack_flags & flag) != 0) text << name;
  text << '\n';
  replayed.found = text.str();
  return replayed;
}

void RecordedWalk::Write(std::ostream& out) const {
  for (const std::string& line : about) out << "# " << line << '\n';
  out << std::hex << "register rip " << registers.pc << '\n';
  for (std::size_t i = 0; i < kRegisters.size(); ++i)
    out << "register " << kRegisters[i] << ' ' << registers.value[i] << '\n';
  for (const auto& [begin, end, file_offset, name] : mappings)
    out << "mapping " << begin << ' ' << end << ' ' << file_offset << ' ' << name << '\n';
  for (const Row& row : rows) WriteRow(out, row);
  out << std::hex;
  for (const auto& [address, word] : words) out << "word " << address << ' ' << word << '\n';
  out << found;
}

Result<RecordedWalk> RecordedWalk::Read(std::istream& in) {
  RecordedWalk walk;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words_of(line);
    std::string kind;
    words_of >> kind >> std::hex;
    bool good = true;
    if (kind == "#") {
      walk.about.push_back(line.substr(2));
    } else if (kind == "register") {
      std::string name;
      std::uint64_t value = 0;
      good = static_cast<bool>(words_of >> name >> value);
      const std::size_t number = IndexOf(kRegisters, name);
      if (number < kRegisters.size()) walk.registers.value[number] = value;
      if (name == "rip") walk.registers.pc = value;
    } else if (kind == "mapping") {
      Mapping mapping;
      good = static_cast<bool>(words_of >> mapping.begin >> mapping.end >> mapping.file_offset >>
                               mapping.name);
      walk.mappings.push_back(mapping);
    } else if (kind == "row") {
      good = ReadRow(words_of, walk.rows.emplace_back());
    } else if (kind == "word") {
      std::uint64_t address = 0;
      good = static_cast<bool>(words_of >> address >> walk.words[address]);
    } else {
      walk.found += line + "\n";
    }
    if (!good) return Error{ErrorCode::kCorrupt, "cannot read: " + line, ""};
  }
  return walk;
}

}  // namespace profd
