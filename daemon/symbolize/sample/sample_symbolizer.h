// SampleSymbolizer: Sample -> SymbolizedSample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/base/counter.h"
#include "daemon/symbolize/names/symbolizer.h"
#include "daemon/symbolize/sample/frame_table.h"
#include "daemon/symbolize/sample/stack_trimming.h"
#include "daemon/symbolize/sample/symbolized_sample.h"

namespace profd::symbolize {

// Finds the frames of every address; a known address costs one hash look-up and no string. It trims
// the scheduler's frames of stacks off the CPU (stack_trimming.h). A stack that ends early gets a
// last frame with the reason (stack_end.h). Python frames without a place among the native ones
// stand above them, behind the frame `[merge=failed]`. Used by the symbolizer thread; any thread
// may read the counters.
class SampleSymbolizer {
 public:
  // Beyond this all addresses are forgotten and looked up again: processes that come and go bring
  // new modules for the files of old ones.
  static constexpr std::size_t kMaxAddresses = 250'000;

  struct Counters {
    Counter samples;
    Counter frames;      // before trimming
    Counter looked_up;   // addresses not seen before
    Counter unresolved;  // of those, without a name
  };

  SampleSymbolizer(Symbolizer& symbolizer, FrameTable& table)
      : symbolizer_(symbolizer), table_(table) {}

  [[nodiscard]] SymbolizedSample Symbolize(process::Sample sample, Detail detail = Detail::kSource);
  // Forgets all addresses, and all frames but some: see FrameTable::Retain.
  [[nodiscard]] std::vector<FrameId> Retain(const std::function<bool(FrameId)>& keep);
  // Forgets all addresses and clears the table; for when no FrameId of it is held, that is when
  // no session is running. Bounds what an always-on daemon keeps.
  void Clear();
  // Of the addresses seen, by an estimate; the table's come to that.
  [[nodiscard]] std::size_t bytes() const {
    return known_.size() * kAddressBytes + owners_.size() * kOwnerBytes;
  }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Key {
    const void* owner = nullptr;  // a module, or a Python function
    std::uint64_t place = 0;      // address or offset; the line of a Python frame
    bool kernel = false;
    bool return_address = false;
    bool interpreter = false;
    Detail detail = Detail::kSource;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  // Frames of one address: ids_[first] to ids_[first + count - 1].
  struct Known {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    KernelRole role = KernelRole::kOther;
    bool lasting = false;  // false: looked up again each time
  };

  static constexpr std::size_t kAddressBytes = sizeof(Key) + sizeof(Known) + 32;  // and a node
  static constexpr std::size_t kOwnerBytes = 64;

  [[nodiscard]] static Key KeyOf(const process::AddressFrame& address, Detail detail);
  const Known& Look(const process::AddressFrame& address, Detail detail);
  void Resolve(const process::AddressFrame& address, Detail detail);  // into frames_
  void Append(const std::vector<process::AddressFrame>& addresses, Detail detail,
              std::vector<FrameId>& frames);
  [[nodiscard]] FrameId InternPseudo(std::string_view name);
  void ForgetAddresses();

  Symbolizer& symbolizer_;
  FrameTable& table_;
  std::unordered_map<Key, Known, Hash> known_;
  std::vector<FrameId> ids_;
  // Keeps the owners in `known_` alive, so that none takes the address of another.
  std::unordered_map<const void*, std::shared_ptr<const void>> owners_;
  std::vector<Known> stack_;  // of the current sample
  std::vector<KernelRole> roles_;
  std::vector<Frame> frames_;
  std::uint64_t improvements_ = 0;  // of symbolizer_, when the addresses were looked up
  Counters counters_;
};

}  // namespace profd::symbolize
