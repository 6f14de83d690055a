#include "daemon/python/find/slot_finder.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace profd::python {
namespace {

// struct pthread of glibc on x86-64, from the thread pointer: an array of 32 keys {sequence, value}
// and, behind it, pointers to more such arrays.
constexpr std::int64_t kFirstKeys = 0x310;
constexpr std::uint32_t kKeysOfArray = 32;
constexpr std::int64_t kMoreKeys = kFirstKeys + std::int64_t{kKeysOfArray} * 16;
constexpr std::uint32_t kMaxKeys = 1024;
// musl has a pointer to its array somewhere in this many bytes.
constexpr std::int64_t kMuslBytes = 256;
// Thread-local variables of what was loaded at start lie below the thread pointer.
constexpr std::uint64_t kLocalBytes = 4096;
constexpr std::size_t kLocalPart = 512;
constexpr std::int64_t kNeighbourBytes = 64;

// A word of the thread, from its pointer.
std::optional<std::uint64_t> Word(const ProcessMemory& memory, std::uint64_t pointer,
                                  const Slot& slot) {
  std::uint64_t word = 0;
  if (!memory.Get(pointer + static_cast<std::uint64_t>(slot.offset), &word)) return std::nullopt;
  if (slot.inner == 0 || word == 0) return word;
  std::uint64_t inner = 0;
  if (!memory.Get(word + slot.inner - 1, &inner)) return std::nullopt;
  return inner;
}

// Both libraries keep the thread pointer's own value where it points to.
bool IsThreadPointer(const ProcessMemory& memory, std::uint64_t pointer) {
  std::uint64_t self = 0;
  return pointer != 0 && pointer % 16 == 0 && memory.Get(pointer, &self) && self == pointer;
}

enum class Verdict { kHolds, kHoldsNot, kOpen };

// What one thread keeps there. A thread may have several states, of which any may be bound.
Verdict Judge(const ProcessMemory& memory, std::span<const ThreadState> states,
              std::uint64_t pointer, const Slot& slot) {
  const auto word = Word(memory, pointer, slot);
  if (!word || *word == 0) return Verdict::kOpen;
  const bool own = std::any_of(states.begin(), states.end(), [&](const ThreadState& state) {
    return state.address == *word && state.thread_pointer == pointer;
  });
  return own ? Verdict::kHolds : Verdict::kHoldsNot;
}

// How many threads keep their state there; nothing when one of them keeps something else.
std::optional<std::size_t> CountHolders(const ProcessMemory& memory,
                                        std::span<const ThreadState> states,
                                        std::span<const std::uint64_t> pointers, const Slot& slot) {
  std::size_t holders = 0;
  for (const std::uint64_t pointer : pointers) {
    const Verdict verdict = Judge(memory, states, pointer, slot);
    if (verdict == Verdict::kHoldsNot) return std::nullopt;
    if (verdict == Verdict::kHolds) ++holders;
  }
  return holders;
}

void AddSlotsOfKey(std::uint32_t key, std::vector<Slot>& slots) {
  if (key >= kMaxKeys) return;
  const std::uint32_t in_array = key % kKeysOfArray * 16 + 8;
  if (key < kKeysOfArray)
    slots.push_back({kFirstKeys + in_array});
  else
    slots.push_back({kMoreKeys + std::int64_t{key / kKeysOfArray} * 8, in_array + 1});
  for (std::int64_t at = 8; at < kMuslBytes; at += 8) slots.push_back({at, key * 8 + 1});
}

// Every thread-local word that holds the state of this thread.
std::vector<Slot> LocalSlots(const ProcessMemory& memory, const ThreadState& state) {
  std::vector<Slot> slots;
  std::array<std::uint64_t, kLocalPart / sizeof(std::uint64_t)> words;
  for (std::uint64_t below = kLocalPart; below <= kLocalBytes; below += kLocalPart) {
    if (!memory.Read(state.thread_pointer - below, std::as_writable_bytes(std::span(words)))) break;
    for (std::size_t i = words.size(); i-- > 0;)
      if (words.at(i) == state.address)
        slots.push_back({static_cast<std::int64_t>(i * 8) - static_cast<std::int64_t>(below)});
  }
  return slots;
}

}  // namespace

std::optional<Slot> FindSlot(const ProcessMemory& memory, std::span<const ThreadState> states,
                             std::span<const std::uint32_t> keys) {
  std::vector<std::uint64_t> pointers;
  std::vector<Slot> slots;
  for (const std::uint32_t key : keys) AddSlotsOfKey(key, slots);
  for (const ThreadState& state : states) {
    if (std::find(pointers.begin(), pointers.end(), state.thread_pointer) != pointers.end() ||
        !IsThreadPointer(memory, state.thread_pointer))
      continue;
    pointers.push_back(state.thread_pointer);
    if (!keys.empty()) continue;
    for (const Slot& slot : LocalSlots(memory, state))
      if (std::find(slots.begin(), slots.end(), slot) == slots.end()) slots.push_back(slot);
  }
  std::optional<Slot> best;
  std::size_t most = 0;
  for (const Slot& slot : slots) {
    const auto holders = CountHolders(memory, states, pointers, slot);
    if (!holders || *holders == 0) continue;
    if (best && *holders == most && keys.empty()) {
      // The variable that is always bound holds the state at least as often as the others. Where
      // they are equal, only a waiting thread shows the difference. GCC places it below the others.
      if (best->offset - slot.offset <= kNeighbourBytes) best->offset = slot.offset;
      best->certain = false;
    } else if (*holders > most) {
      best = slot;
      most = *holders;
    }
  }
  return best;
}

}  // namespace profd::python
