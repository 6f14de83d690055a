#include "daemon/symbolize/live/jit_remote.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <utility>

#include "daemon/base/keys.h"
#include "daemon/reader/message.h"

namespace profd::symbolize {
namespace {

using reader::Packer;
using reader::Unpacker;

enum class Verb : std::uint8_t { kSearch, kRead, kRegistered, kObject, kMade };
enum class Listed : std::uint8_t { kCode, kMoved };

constexpr std::string_view kWhoWritesIt =
    ": node does with --perf-basic-prof, Java on jcmd PID Compiler.perfmap";
constexpr std::size_t kMaxStatusBytes = 1u << 20;
constexpr std::size_t kMaxMapsBytes = 64u << 20;
constexpr std::size_t kPiece = 4u << 20;  // of a file, in one request
// A request costs as much as so many bytes of its answer; machine code in a dump is skipped, and so
// many bytes of it cost as much as one.
constexpr std::uint64_t kRequestCost = 4'096;
constexpr std::uint64_t kSkippedPerCost = 16;
constexpr std::size_t kLeastEntry = sizeof(Listed) + 2 * sizeof(std::uint64_t);

// Its pid in its own namespace, the last of NSpid.
std::uint32_t InnerPid(const std::string& status, std::uint32_t pid) {
  std::istringstream lines(status);
  std::uint32_t inner = pid;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(6));
    while (numbers >> inner) {
    }
  }
  return inner;
}

// Field 22 of stat: when it started. The name before it may hold anything.
std::uint64_t StartIn(const std::string& stat) {
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::uint64_t start = 0;
  fields >> start;
  return start;
}

// The dump that it has mapped: run times map one page of theirs, to be found by.
std::string DumpIn(const std::string& maps, std::uint32_t inner) {
  const std::string name = "/jit-" + std::to_string(inner) + ".dump";
  const std::size_t at = maps.find(name + "\n");
  if (at == std::string::npos) return "";
  const std::size_t line = maps.rfind('\n', at) + 1;
  const std::size_t path = maps.find('/', line);
  return maps.substr(path, at - path) + name;
}

void PackFile(const JitFile& file, Packer& answer) {
  answer.Text(file.path).Text(file.missing).Number(file.inode).Number(file.bytes);
}

JitFile UnpackFile(Unpacker& fields) {
  JitFile file;
  file.path = fields.Text();
  file.missing = fields.Text();
  file.inode = fields.Number<std::uint64_t>();
  file.bytes = fields.Number<std::uint64_t>();
  return file;
}

// Hands over what a list says.
void UnpackEntries(Unpacker& fields, JitSink& sink) {
  const std::uint32_t count = fields.Count(kLeastEntry);
  for (std::uint32_t i = 0; i < count && fields.ok(); ++i) {
    const auto kind = fields.Number<Listed>();
    const auto first = fields.Number<std::uint64_t>();
    const auto second = fields.Number<std::uint64_t>();
    if (kind == Listed::kCode)
      sink.Add(first, second, fields.Text());
    else
      sink.Move(first, second, fields.Number<std::uint64_t>());
  }
}

// Lays out what a list says, for the daemon.
class PackingSink : public JitSink {
 public:
  void Add(std::uint64_t begin, std::uint64_t size, std::string_view name) override {
    entries_.Number(Listed::kCode).Number(begin).Number(size).Text(name);
    ++count_;
  }
  void Move(std::uint64_t from, std::uint64_t to, std::uint64_t size) override {
    entries_.Number(Listed::kMoved).Number(from).Number(to).Number(size);
    ++count_;
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::string Take() { return entries_.Take(); }

 private:
  Packer entries_;
  std::uint32_t count_ = 0;
};

// The functions of an object that lies in the process's memory.
Result<std::string> ReadObjectOf(std::uint32_t pid, const elf::RegisteredPlace& place,
                                 reader::FileOpener& opener) {
  const auto opened = opener.Open({.what = reader::OpenRequest::What::kMemory, .pid = pid});
  if (!opened) return opened.error();
  const auto object = elf::RegisteredObject::Open(opened->fd.get(), place.address, place.bytes);
  if (!object) return object.error();
  if (object->place() != place) return Error{ErrorCode::kNotFound, "another object is there", ""};
  const elf::SymbolTable symbols = object->ReadSymbols();
  PackingSink sink;
  for (const elf::SymbolTable::Entry& symbol : symbols.entries())
    sink.Add(symbol.begin, symbol.bytes, symbols.NameOf(symbol));
  return Packer().Number(sink.count()).Take() + sink.Take();
}

Result<std::string> ReadMadeOf(std::uint32_t pid, Unpacker& fields, reader::FileOpener& opener) {
  const auto address = fields.Number<std::uint64_t>();
  const auto is_known = fields.Number<bool>();
  const auto hash = fields.Number<std::uint64_t>();
  return ReadMadeWindow(pid, address, is_known ? std::optional(hash) : std::nullopt, opener);
}

Error Nonsense() {
  return Error{ErrorCode::kCorrupt, "the answer about code made at run time makes no sense", ""};
}

}  // namespace

Result<std::string> JitParser::Answer(std::string_view request, reader::ParserContext context) {
  Unpacker fields(request);
  const auto verb = fields.Number<Verb>();
  const auto pid = fields.Number<std::uint32_t>();
  switch (verb) {
    case Verb::kSearch:
      return Search(pid, context.opener);
    case Verb::kRead:
      return ReadPiece(pid, fields, context.opener);
    case Verb::kRegistered:
      return ReadRegistered(pid, fields.Number<std::uint64_t>(), context.opener);
    case Verb::kObject:
      return ReadObjectOf(pid, fields.Plain<elf::RegisteredPlace>(), context.opener);
    case Verb::kMade:
      return ReadMadeOf(pid, fields, context.opener);
  }
  return Error{ErrorCode::kInvalidArgument, "no such request", ""};
}

Result<std::string> JitParser::ReadRegistered(std::uint32_t pid, std::uint64_t known,
                                              reader::FileOpener& opener) {
  const auto list = registered_.Read(opener, pid);
  if (!list) return list.error();
  Packer answer;
  const bool is_new = (*list)->stamp != known;
  answer.Number(is_new);
  if (is_new) elf::PackList(**list, answer);
  return answer.Take();
}

Result<std::string> JitParser::ReadPiece(std::uint32_t pid, Unpacker& fields,
                                         reader::FileOpener& opener) {
  const std::string path(fields.Text());
  const auto inode = fields.Number<std::uint64_t>();
  const auto is_dump = fields.Number<bool>();
  const auto offset = fields.Number<std::uint64_t>();
  int fd = Find(pid, path, inode);
  if (fd < 0) {
    // Another reader had it open, or it is long ago.
    (void)Inspect(pid, path, opener);
    fd = Find(pid, path, inode);
  }
  if (fd < 0) return Error{ErrorCode::kNotFound, path + " is gone", ""};
  std::string bytes(kPiece, '\0');
  ssize_t got = 0;
  do {
    got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return ErrorFromErrno(errno, path);
  bytes.resize(static_cast<std::size_t>(got));
  PackingSink sink;
  const std::size_t done =
      is_dump ? ReadJitDump(bytes, offset == 0, sink) : ReadPerfMap(bytes, sink);
  // A record that is longer than what is read at once would never be whole.
  const bool full = bytes.size() == kPiece;
  Packer answer;
  answer.Number(offset + (done == 0 && full ? bytes.size() : done))
      .Number(full)
      .Number(sink.count());
  return answer.Take() + sink.Take();
}

Result<std::string> JitParser::Search(std::uint32_t pid, reader::FileOpener& opener) {
  const auto stat = reader::ReadProcessFile(opener, pid, "stat", kMaxStatusBytes);
  if (!stat) return stat.error();
  const auto status = reader::ReadProcessFile(opener, pid, "status", kMaxStatusBytes);
  if (!status) return status.error();
  const std::uint32_t inner = InnerPid(*status, pid);
  const auto maps = reader::ReadProcessFile(opener, pid, "maps", kMaxMapsBytes);
  const std::string dump = maps ? DumpIn(*maps, inner) : "";
  Packer answer;
  answer.Number(StartIn(*stat)).Number<std::uint64_t>(maps ? maps->size() : 0);
  PackFile(Inspect(pid, "/tmp/perf-" + std::to_string(inner) + ".map", opener), answer);
  PackFile(dump.empty() ? JitFile{} : Inspect(pid, dump, opener), answer);
  return answer.Take();
}

JitFile JitParser::Inspect(std::uint32_t pid, std::string path, reader::FileOpener& opener) {
  JitFile file;
  file.path = path;
  auto opened = opener.Open({.what = reader::OpenRequest::What::kOwned, .pid = pid, .path = path});
  if (!opened) {
    file.missing = opened.error().code == ErrorCode::kNotFound
                       ? "it wrote no " + path + std::string(kWhoWritesIt)
                       : opened.error().message;
    return file;
  }
  file.inode = opened->inode;
  file.bytes = opened->bytes;
  std::erase_if(open_, [&](const OpenFile& one) { return one.pid == pid && one.path == path; });
  if (open_.size() == kMaxOpen) open_.erase(open_.begin());
  open_.push_back({pid, std::move(path), file.inode, std::move(opened->fd)});
  return file;
}

int JitParser::Find(std::uint32_t pid, std::string_view path, std::uint64_t inode) const {
  const auto known = std::ranges::find_if(open_, [&](const OpenFile& one) {
    return one.pid == pid && one.path == path && one.inode == inode;
  });
  return known == open_.end() ? -1 : known->fd.get();
}

Result<std::string> JitClient::Ask(std::uint32_t pid, std::string body) {
  return readers_.Ask({.body = std::move(body),
                       .name = "code made at run time by process " + std::to_string(pid),
                       .target = MixBits(pid),
                       .user = reader::UserOf(pid),
                       .descriptors = {}},
                      kPatience);
}

Result<JitFiles> JitClient::Search(std::uint32_t pid) {
  const auto answer = Ask(pid, Packer().Number(Verb::kSearch).Number(pid).Take());
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  JitFiles files;
  files.start = fields.Number<std::uint64_t>();
  files.cost =
      kRequestCost + std::min<std::uint64_t>(fields.Number<std::uint64_t>(), kMaxMapsBytes);
  files.perf_map = UnpackFile(fields);
  files.dump = UnpackFile(fields);
  if (!fields.done()) return Nonsense();
  return files;
}

Result<JitProgress> JitClient::Read(std::uint32_t pid, const JitFile& file, bool is_dump,
                                    std::uint64_t offset, JitSink& sink) {
  const auto answer = Ask(pid, Packer()
                                   .Number(Verb::kRead)
                                   .Number(pid)
                                   .Text(file.path)
                                   .Number(file.inode)
                                   .Number(is_dump)
                                   .Number(offset)
                                   .Take());
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  JitProgress progress;
  progress.done = fields.Number<std::uint64_t>();
  progress.more = fields.Number<bool>();
  progress.cost = kRequestCost + answer->size() +
                  std::min<std::uint64_t>(progress.done - std::min(offset, progress.done), kPiece) /
                      kSkippedPerCost;
  UnpackEntries(fields, sink);
  if (!fields.done() || progress.done < offset) return Nonsense();
  return progress;
}

Result<JitRegistered> JitClient::ReadRegistered(std::uint32_t pid, std::uint64_t known) {
  const auto answer = Ask(pid, Packer().Number(Verb::kRegistered).Number(pid).Number(known).Take());
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  JitRegistered registered;
  registered.cost = kRequestCost + answer->size();
  if (fields.Number<bool>()) {
    registered.list = elf::UnpackList(fields);
    if (!registered.list) return Nonsense();
  }
  if (!fields.done()) return Nonsense();
  return registered;
}

Result<std::uint64_t> JitClient::ReadObject(std::uint32_t pid, const elf::RegisteredPlace& place,
                                            JitSink& sink) {
  const auto answer = Ask(pid, Packer().Number(Verb::kObject).Number(pid).Plain(place).Take());
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  UnpackEntries(fields, sink);
  if (!fields.done()) return Nonsense();
  return kRequestCost + answer->size();
}

Result<MadeAnswer> JitClient::ReadMade(std::uint32_t pid, std::uint64_t address,
                                       std::optional<std::uint64_t> known) {
  const auto answer = Ask(pid, Packer()
                                   .Number(Verb::kMade)
                                   .Number(pid)
                                   .Number(address)
                                   .Number(known.has_value())
                                   .Number(known.value_or(0))
                                   .Take());
  if (!answer) return answer.error();
  auto made = UnpackMadeWindow(*answer, address);
  if (!made) return Nonsense();
  return *std::move(made);
}

}  // namespace profd::symbolize
