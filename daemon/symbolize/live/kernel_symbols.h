// KernelSymbols: which kernel function, module or BPF program holds an address.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "daemon/base/clock.h"
#include "daemon/base/counter.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/symbolize/names/kallsyms.h"

namespace profd::symbolize {

// Used by one thread.
class KernelSymbols {
 public:
  virtual ~KernelSymbols() = default;
  // The symbol that holds `address`, valid until the next call; else the reason why there is none.
  [[nodiscard]] virtual Result<KernelSymbol> Find(std::uint64_t address) = 0;
  // Reads what the first look-up would read.
  virtual void Prepare() {}
};

// It reads /proc/kallsyms at Prepare or the first use. Modules and BPF programs come and go, so it
// reads the file again when an address is not in it, at most every kRefreshNs, because reading
// takes tens of ms. Used by the symbolizer thread.
class LiveKernelSymbols : public KernelSymbols {
 public:
  static constexpr std::uint64_t kRefreshNs = 30'000'000'000;

  LiveKernelSymbols(ProcFs proc, const Clock& clock) : proc_(std::move(proc)), clock_(clock) {}

  [[nodiscard]] Result<KernelSymbol> Find(std::uint64_t address) override;
  void Prepare() override;
  // How often the file was read; any thread may read the number.
  [[nodiscard]] std::uint64_t reads() const { return reads_.value(); }

 private:
  [[nodiscard]] std::optional<KernelSymbol> Lookup(std::uint64_t address) const;
  void Refresh();

  const ProcFs proc_;
  const Clock& clock_;
  Counter reads_;
  std::uint64_t refresh_ns_ = 0;  // not before
  Result<Kallsyms> symbols_ = Error{ErrorCode::kUnavailable, "not read yet", ""};
};

// Kind under which recordings keep kernel symbols; there is one blob, its key is "".
inline constexpr std::string_view kKallsymsBlobKind = "kallsyms";

// A decorator that remembers the symbols that look-ups found. Flush hands over the new ones as
// lines "begin end module name", and "! reason" for the first failure. Of several symbols that
// begin at one address the first counts. Used by the symbolizer thread.
class RecordingKernelSymbols : public KernelSymbols {
 public:
  // kind, key, bytes; as recordings take it.
  using Sink = std::function<void(std::string_view, std::string_view, std::string_view)>;

  RecordingKernelSymbols(KernelSymbols& inner, Sink sink) : inner_(inner), sink_(std::move(sink)) {}

  [[nodiscard]] Result<KernelSymbol> Find(std::uint64_t address) override;
  void Prepare() override { inner_.Prepare(); }
  void Flush();

 private:
  KernelSymbols& inner_;
  const Sink sink_;
  std::string unsent_;
  bool failure_sent_ = false;
  std::set<std::uint64_t> seen_;  // where they begin
};

// Has the symbols of all such blobs of a recording. Used by one thread.
class ReplayKernelSymbols : public KernelSymbols {
 public:
  [[nodiscard]] Result<void> AddBlob(std::string_view bytes);
  [[nodiscard]] Result<KernelSymbol> Find(std::uint64_t address) override;

 private:
  struct Symbol {
    std::uint64_t end = 0;
    std::string module;
    std::string name;
  };
  std::map<std::uint64_t, Symbol> symbols_;
  std::string reason_ = std::string(kNoKernelSymbol);
};

}  // namespace profd::symbolize
