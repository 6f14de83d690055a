// LabelledProcesses: finds the processes of this host that have some labels.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/process/container_names.h"
#include "daemon/process/process_info.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/session/session_control.h"
#include "daemon/source/procfs/process_texts.h"
#include "daemon/source/procfs/user_names.h"

namespace profd::pipeline {

// Job: reads /proc, what processes say they are, and what the runtimes of their containers say, and
// compares the labels. It keeps nothing from call to call: labels are those of now. Thread: methods
// may be called from any thread, and wait for each other. Owner: the composition root. It does not
// promise to find processes that begin during a call.
class LabelledProcesses {
 public:
  // What is pointed to must outlive this.
  struct Parts {
    ProcFs proc;
    reader::Readers& readers;             // of source::ProcessTextParsers
    process::ContainerNames* containers;  // null: no runtime is known
    std::string host;                     // the value of host.name
    std::string passwd = "/etc/passwd";
  };

  explicit LabelledProcesses(Parts parts);

  // The pids of a target of labels, ascending. Where `target.uid` is set, only of processes that
  // this user owns alone; of others nothing is read. profd itself is none, and threads of the
  // kernel are none. kNotFound: no process has them; the hint says what there is. kExhausted: more
  // than PROFD_MAX_FILTER_IDS have them.
  [[nodiscard]] Result<std::vector<std::uint32_t>> Find(const session::Target& target);

 private:
  struct Candidate {
    process::ProcessInfo info;
    source::ProcessThread thread;
  };

  [[nodiscard]] std::vector<std::uint32_t> Others() const;  // pids of all but profd
  // Nothing: it has ended, or is not this user's.
  [[nodiscard]] std::optional<Candidate> Read(std::uint32_t pid, std::optional<std::uint32_t> uid);
  // Of all that may be in the target, with what they say themselves.
  [[nodiscard]] std::vector<Candidate> Candidates(std::optional<std::uint32_t> uid);
  // Waits until the runtimes have said what they know of the candidates' containers.
  void AskRuntimes(const std::vector<Candidate>& candidates) const;

  const Parts parts_;
  source::UserNames users_;
  std::mutex mutex_;  // guards texts_
  source::ProcessTextClient texts_;
};

}  // namespace profd::pipeline
