// record_walk TID [--to-plt]: writes the walk of a thread's user stack to stdout, as RecordedWalk.
// The thread is stopped meanwhile; with --to-plt it is first stepped on into a linkage stub.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/unwind/cfi/cfi_reader.h"
#include "daemon/unwind/cfi/frame_rule.h"
#include "daemon/unwind/tables/chunk_builder.h"
#include "tests/bpf_user/recorded_walk.h"

namespace profd {
namespace {

constexpr int kMaxSteps = 1'000'000;

// One stopped thread.
class Target {
 public:
  explicit Target(pid_t tid) : tid_(tid) {
    if (::ptrace(PTRACE_ATTACH, tid_, 0, 0) != 0 || ::waitpid(tid_, nullptr, __WALL) != tid_)
      std::exit(1);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() { ::ptrace(PTRACE_DETACH, tid_, 0, 0); }

  [[nodiscard]] user_registers Registers() const {
    user_regs_struct regs{};
    ::ptrace(PTRACE_GETREGS, tid_, 0, &regs);
    return {regs.rip,
            {regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi, regs.rbp, regs.rsp,
             regs.r8, regs.r9, regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15}};
  }
  bool Step() {
    return ::ptrace(PTRACE_SINGLESTEP, tid_, 0, 0) == 0 && ::waitpid(tid_, nullptr, __WALL) == tid_;
  }
  bool ReadWord(std::uint64_t address, std::uint64_t& word) const {
    iovec local{&word, sizeof word};
    iovec remote{reinterpret_cast<void*>(address), sizeof word};
    return ::process_vm_readv(tid_, &local, 1, &remote, 1, 0) == sizeof word;
  }

 private:
  pid_t tid_;
};

class Recorder {
 public:
  explicit Recorder(pid_t tid) : tid_(tid), target_(tid) {
    const auto maps = ProcFs().Read(std::to_string(tid) + "/maps");
    if (maps) {
      ParseMaps(*maps, [this](MapsLine&& line) { maps_.push_back(line); });
    }
  }

  bool StepToPlt() {
    for (int i = 0; i < kMaxSteps && target_.Step(); ++i) {
      const auto row = RowAt(target_.Registers().pc);
      if (row && row->rule.cfa == PROFD_CFA_PLT) return true;
    }
    return false;
  }

  RecordedWalk Record() {
    RecordedWalk walk;
    walk.registers = target_.Registers();
    AddMapping(walk, walk.registers.value[7]);  // the stack
    std::map<std::uint64_t, std::uint64_t> words;
    for (bool more = true; more;) {
      words.clear();
      const ReplayedWalk replayed =
          Replay(walk, false, [&](std::uint64_t address, std::uint64_t& word) {
            if (!target_.ReadWord(address, word)) return false;
            words[address] = word;
            return true;
          });
      more = false;
      for (const std::uint64_t address : replayed.looked_up) more |= AddRow(walk, address);
      walk.found = replayed.found;
    }
    walk.words = std::move(words);
    return walk;
  }

 private:
  [[nodiscard]] const MapsLine* LineAt(std::uint64_t address) const {
    const auto found = std::ranges::find_if(
        maps_, [&](const auto& line) { return address >= line.start && address < line.end; });
    return found == maps_.end() ? nullptr : &*found;
  }

  // What the file's frames say of the address.
  std::optional<RecordedWalk::Row> RowAt(std::uint64_t address) {
    const MapsLine* line = LineAt(address);
    if (line == nullptr || line->inode == 0) return std::nullopt;
    auto& rows = rows_[line->path];
    const std::uint64_t offset = address - line->start + line->file_offset;
    const std::uint64_t begin = offset / unwind::kChunkBytes * unwind::kChunkBytes;
    if (!rows.contains(begin)) {
      const std::string path = "/proc/" + std::to_string(tid_) + "/root" + line->path;
      UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      struct stat status {};
      if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return std::nullopt;
      auto reader =
          unwind::CfiReader::Open(std::move(fd), static_cast<std::uint64_t>(status.st_size));
      if (!reader) return std::nullopt;
      rows[begin] = reader->ReadRows(begin, begin + unwind::kChunkBytes).rows;
    }
    const auto& all = rows[begin];
    const auto next = std::ranges::upper_bound(all, offset, {}, &unwind::Row::offset);
    return RecordedWalk::Row{0, std::prev(next)->offset,
                             next == all.end() ? begin + unwind::kChunkBytes : next->offset,
                             std::prev(next)->rule};
  }

  void AddMapping(RecordedWalk& walk, std::uint64_t address) {
    const MapsLine* line = LineAt(address);
    if (line == nullptr || std::ranges::any_of(walk.mappings, [&](const auto& mapping) {
          return mapping.begin == line->start;
        }))
      return;
    const std::string name = line->path.substr(line->path.rfind('/') + 1);
    RecordedWalk::Mapping mapping{line->start, line->end, line->file_offset,
                                  line->executable && line->inode != 0 ? name : "-"};
    const auto at =
        std::ranges::upper_bound(walk.mappings, mapping.begin, {}, &RecordedWalk::Mapping::begin);
    const auto index = static_cast<std::size_t>(at - walk.mappings.begin());
    walk.mappings.insert(at, mapping);
    for (RecordedWalk::Row& row : walk.rows)
      if (row.mapping >= index) ++row.mapping;
  }

  // Whether it is new.
  bool AddRow(RecordedWalk& walk, std::uint64_t address) {
    auto row = RowAt(address);
    if (!row) return false;
    const std::size_t before = walk.mappings.size();
    AddMapping(walk, address);
    while (address >= walk.mappings[row->mapping].end) ++row->mapping;
    const auto same = [&](const RecordedWalk::Row& one) {
      return one.mapping == row->mapping && one.begin == row->begin;
    };
    if (std::ranges::any_of(walk.rows, same)) return false;
    if (row->rule.cfa == PROFD_CFA_NONE) return walk.mappings.size() > before;
    const auto at = std::ranges::find_if(walk.rows, [&](const RecordedWalk::Row& one) {
      return std::pair(one.mapping, one.begin) > std::pair(row->mapping, row->begin);
    });
    walk.rows.insert(at, *row);
    return true;
  }

  pid_t tid_;
  Target target_;
  std::vector<MapsLine> maps_;
  std::map<std::string, std::map<std::uint64_t, std::vector<unwind::Row>>> rows_;
};

}  // namespace
}  // namespace profd

int main(int argc, char** argv) {
  const bool to_plt = argc == 3 && std::strcmp(argv[2], "--to-plt") == 0;
  if (argc != 2 && !to_plt) {
    std::cerr << "usage: record_walk TID [--to-plt]\n";
    return 2;
  }
  profd::Recorder recorder(std::atoi(argv[1]));
  if (to_plt && !recorder.StepToPlt()) {
    std::cerr << "it never went through a linkage stub\n";
    return 1;
  }
  recorder.Record().Write(std::cout);
}
