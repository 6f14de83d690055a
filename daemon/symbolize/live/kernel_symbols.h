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
#include "daemon/base/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/symbolize/names/kallsyms.h"

namespace profd::symbolize {

// Used by one thread.
class KernelSymbols {
 public:
  virtual ~KernelSymbols() = default;
  // The symbol that holds `address`, valid until the next call; else the reason why there is none.
  [[nodiscard]] virtual Result<KernelSymbol> Find(std::uint64_t address) = 0;
  // What the first question would read.
  virtual void Prepare() {}
};

// From /proc/kallsyms. Read at Prepare or the first use and, because modules and BPF programs come
// and go, again when an address is not in it, from then on no oftener than every kRefreshNs: it
// takes tens of ms.
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

// A decorator: remembers the symbols that look-ups found; Flush hands over the new ones as lines
// "begin end module name", and "! reason" for the first failure. The first symbol that begins at an
// address stands. Used by the symbolizer thread.
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

// Answers from such blobs, which add up.
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
