// CachingSymbolizer: remembers the answers of another Symbolizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/counter.h"
#include "daemon/base/lru_cache.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::symbolize {

// A decorator that is bounded by the memory of its answers; the least recently used ones leave
// first. The key is the module object and the place in it. An answer holds its module, so that no
// other module takes the same address. Kernel addresses without a name are not kept, because a BPF
// program may be listed later, nor are names of code that is made at run time. Used by the
// symbolizer thread; any thread may read the counters.
class CachingSymbolizer : public Symbolizer {
 public:
  struct Counters {
    Counter hits;
    Counter misses;
    Counter bytes;
  };

  CachingSymbolizer(Symbolizer& inner, std::size_t max_bytes)
      : inner_(inner), answers_(Answers::kUnbounded, max_bytes) {}

  void Resolve(const process::AddressFrame& address, Detail detail,
               std::vector<Frame>& frames) override;
  void Prepare() override { inner_.Prepare(); }
  [[nodiscard]] std::uint64_t improvements() const override { return inner_.improvements(); }
  // Discards answers until what the memory budget requests is free.
  void GiveUp();
  [[nodiscard]] budget::MemoryAccount& memory() { return memory_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Key {
    const process::Module* module = nullptr;
    std::uint64_t place = 0;
    bool kernel = false;
    bool return_address = false;
    Detail detail = Detail::kSource;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Answer {
    process::ModuleRef module;
    std::vector<Frame> frames;
  };
  using Answers = LruCache<Key, Answer, Hash>;

  void PublishBytes();

  Symbolizer& inner_;
  Answers answers_;
  std::uint64_t improvements_ = 0;  // of inner_, when the answers were given
  Counters counters_;
  budget::MemoryAccount memory_{"names"};
};

}  // namespace profd::symbolize
