// JitSymbols: which function of a run time's own making holds an address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/counter.h"
#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"
#include "daemon/base/result.h"
#include "daemon/budget/share/shares.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/symbolize/live/jit_map.h"
#include "daemon/symbolize/live/jit_remote.h"
#include "daemon/symbolize/live/made_functions.h"
#include "daemon/symbolize/live/registered_names.h"

namespace profd::symbolize {

// Used by one thread.
class JitSymbols {
 public:
  virtual ~JitSymbols() = default;
  // The code that holds `address` in this process, valid until the next call; else what was tried.
  [[nodiscard]] virtual Result<JitSymbol> Find(std::uint32_t pid, std::uint64_t address) = 0;
};

// What is read of such lists for one process, and for all processes of one user. As
// JitProgress::cost: about the bytes of what lists say. One line takes some 60.
struct JitShares : budget::ProcessShares {
  static constexpr budget::Shares::Rate kOfProcess{4u << 20, 64u << 20};
  static constexpr budget::Shares::Rate kOfUser{16u << 20, 256u << 20};

  explicit JitShares(const Clock& clock)
      : ProcessShares(PROFD_SHARE_JIT_CODE, kOfProcess, PROFD_SHARE_JIT_CODE_OF_USER, kOfUser,
                      clock) {}
};

// Reads /tmp/perf-PID.map and, where one is mapped, jit-PID.dump, in the mount namespace of the
// process and by its pid there, through reader processes. It reads them when code of the process is
// first requested. Because they grow, it reads their new parts when the last reading is kRecheckNs
// old. It searches for files that are not there yet less and less often, at last every
// kLongestSearchNs: most run times write none.
//
// What the files do not list is looked up in the objects that the process has registered for
// debuggers by GDB's JIT interface. Whether it has such a list is seen when files are searched for;
// from then on a few words of its memory say, when the last reading is kRecheckNs old, whether the
// list is another one. Of an object the symbols are read when its code is first requested.
//
// What nothing lists is named by its place, where its function is certain: the code is read, and
// read again when it has changed.
//
// Reading takes time of the one thread that names frames, and memory that all processes share. So a
// process and a user have a share of it. Beyond it the process is read once in kBeyondShareNs,
// however its lists grow or change. Where there are too many lists, the user who holds most loses
// what was used longest ago. Used by the symbolizer thread.
class LiveJitSymbols : public JitSymbols {
 public:
  static constexpr std::uint64_t kRecheckNs = 20'000'000;
  static constexpr std::uint64_t kLongestSearchNs = 1'000'000'000;
  static constexpr std::size_t kMaxProcesses = 64;
  static constexpr std::size_t kMaxBytes = 128u << 20;  // of all maps

  static constexpr std::uint64_t kBeyondShareNs = 1'000'000'000;

  // As JitClient; all must outlive this.
  LiveJitSymbols(reader::Readers& readers, const Clock& clock, JitShares& shares,
                 reader::FindUser user_of = reader::UserOf)
      : client_(readers), clock_(clock), shares_(shares), user_of_(std::move(user_of)) {}

  [[nodiscard]] Result<JitSymbol> Find(std::uint32_t pid, std::uint64_t address) override;
  // Memory of all maps; any thread may read it.
  [[nodiscard]] std::size_t bytes() const { return bytes_.value(); }
  // Any thread may read them.
  struct Counters {
    Counter lists;     // lists of registered objects that were read
    Counter objects;   // objects whose symbols were read
    Counter left_out;  // entries of such lists that were damaged, unreadable or beyond a bound
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct File {
    JitFile file;
    std::uint64_t read = 0;  // bytes taken
    [[nodiscard]] bool is_there() const { return file.inode != 0; }
  };
  struct Process {
    std::uint32_t pid = 0;
    std::uint64_t start = 0;  // other processes of this pid have another one
    std::uint32_t user = 0;
    std::uint64_t used = 0;  // the greatest was used last
    std::uint64_t looked_at_ns = 0;
    std::uint64_t pause_ns = kRecheckNs;  // until it is looked at again
    std::uint64_t searched_at_ns = 0;
    std::uint64_t search_pause_ns = kRecheckNs;
    File perf_map;
    File dump;
    JitMap map;
    RegisteredNames registered;
    MadeFunctions made;
    std::uint64_t windows = 0;  // of it that were read since it was looked at
    [[nodiscard]] std::size_t bytes() const {
      return map.bytes() + registered.bytes() + made.bytes();
    }
  };

  struct Holding {
    std::size_t processes = 0;
    std::size_t bytes = 0;
  };

  [[nodiscard]] static std::string WhyNot(const Process& process);
  [[nodiscard]] Process& Use(std::uint32_t pid);
  // Until what is kept is within the bounds; this one stays.
  void DiscardBeside(const Process& kept);
  // Something of both shares is left. If not, that is counted.
  [[nodiscard]] bool Admit(Process& process);
  void Look(Process& process);
  // The files that there are now; whether there is one, or a process, that was not known.
  [[nodiscard]] bool Search(Process& process);
  [[nodiscard]] static bool Take(const JitFile& found, File& file);
  void ReadMore(Process& process, File& file, bool is_dump);
  void ReadRegistered(Process& process);
  [[nodiscard]] std::optional<JitSymbol> FindRegistered(Process& process, std::uint64_t address);
  [[nodiscard]] std::optional<JitSymbol> FindMade(Process& process, std::uint64_t address);

  JitClient client_;
  const Clock& clock_;
  JitShares& shares_;
  const reader::FindUser user_of_;
  std::unordered_map<std::uint32_t, Process> processes_;  // by pid
  std::uint64_t uses_ = 0;
  std::string name_;    // of the last answer, if it is made of a place,
  std::string reason_;  // and why
  Counter bytes_;
  Counters counters_;
};

// Kinds under which recordings keep what was found, listed in files, registered, and by its place;
// the key is the pid.
inline constexpr std::string_view kJitBlobKind = "jit";
inline constexpr std::string_view kRegisteredBlobKind = "jit registered";
inline constexpr std::string_view kMadeBlobKind = "jit by place";

// A decorator: Flush hands over the symbols found since the last time, as lines "begin size name".
// A symbol is handed over once, and again when another one lies at its place, or when kMaxKnown
// others were found since.
class RecordingJitSymbols : public JitSymbols {
 public:
  static constexpr std::size_t kMaxKnown = 262'144;
  using Sink = std::function<void(std::string_view, std::string_view, std::string_view)>;
  RecordingJitSymbols(JitSymbols& inner, Sink sink) : inner_(inner), sink_(std::move(sink)) {}

  [[nodiscard]] Result<JitSymbol> Find(std::uint32_t pid, std::uint64_t address) override;
  void Flush();

 private:
  struct Place {
    std::uint32_t pid = 0;
    std::uint64_t begin = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const {
      return MixBits(place.begin ^ MixBits(place.pid));
    }
  };
  struct Unsent {
    std::string listed;
    std::string registered;
    std::string made;
  };
  JitSymbols& inner_;
  const Sink sink_;
  LruCache<Place, std::size_t, PlaceHash> known_{kMaxKnown};  // hash of what is there
  std::map<std::uint32_t, Unsent> unsent_;                    // by pid
};

// From such lines. Of two at one place the later one stands.
class ReplayJitSymbols : public JitSymbols {
 public:
  [[nodiscard]] Result<void> AddBlob(std::string_view key, std::string_view bytes) {
    return Add(key, bytes, listed_);
  }
  [[nodiscard]] Result<void> AddRegisteredBlob(std::string_view key, std::string_view bytes) {
    return Add(key, bytes, registered_);
  }
  [[nodiscard]] Result<void> AddMadeBlob(std::string_view key, std::string_view bytes) {
    return Add(key, bytes, made_);
  }
  [[nodiscard]] Result<JitSymbol> Find(std::uint32_t pid, std::uint64_t address) override;

 private:
  using Maps = std::map<std::uint32_t, JitMap>;  // by pid
  [[nodiscard]] static Result<void> Add(std::string_view key, std::string_view bytes, Maps& maps);

  Maps listed_;
  Maps registered_;
  Maps made_;
};

}  // namespace profd::symbolize
