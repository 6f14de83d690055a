#include "daemon/store/sqlite/interner.h"

#include <cstring>

#include "daemon/store/codec/label_text.h"

namespace profd::store {
namespace {

// Statements of tables whose rows are found by a hash. `used` is the last generation that used the
// row.
#define PROFD_FIND(TABLE) "SELECT id, used FROM " TABLE " WHERE hash = ?"
#define PROFD_TOUCH(TABLE) "UPDATE " TABLE " SET used = ? WHERE id = ?"
constexpr char kAddHost[] =
    "INSERT INTO host(hash, used, target, host, kernel, hook, profd_version) "
    "VALUES(?, ?, ?, ?, ?, ?, ?)";
constexpr char kAddProcess[] =
    "INSERT INTO process(hash, used, pid, start_ns, shown_pid, comm, exited, program, parent) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr char kAddProgram[] =
    "INSERT INTO program(hash, used, command_line, executable, build_id, cgroup, container, unit, "
    "uid, sole, user, python, python_refused, labels) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr char kAddThread[] =
    "INSERT INTO thread(hash, used, tid, start_ns, shown_tid, comm) VALUES(?, ?, ?, ?, ?, ?)";
constexpr char kDropThread[] = "DELETE FROM thread WHERE id = ?";
constexpr char kDropProcess[] = "DELETE FROM process WHERE id = ?";
constexpr char kDropProgram[] =
    "DELETE FROM program WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM process WHERE program = ?1)";
constexpr char kAddModule[] =
    "INSERT INTO module(hash, used, path, info_path, build_id, symbols_from, symbols_file, "
    "symbols_missing, debug_file, debug_missing) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr char kAddFrame[] =
    "INSERT INTO frame(hash, used, kind, inlined, interpreter, name, full_name, symbol, module, "
    "offset, file, line, reason) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr char kFindStack[] = "SELECT id, used FROM stack WHERE parent = ? AND frame = ?";
constexpr char kTouchStack[] = "UPDATE stack SET used = ? WHERE id = ?";
constexpr char kAddStack[] = "INSERT INTO stack(parent, frame, used) VALUES(?, ?, ?)";

// A cache that is full is emptied, which for these is better than to discard what was used longest
// ago: a window uses each of its rows once, in about the same order as the window before, so with
// more rows than places every row would be gone when it is used again.
// Entries of each cache, at some 65 bytes each. Processes, threads and programs come and go, so few
// are enough; frames and stacks are sized for what a busy host uses within minutes.
constexpr std::size_t kMaxKnown = 20'000;
constexpr std::size_t kMaxKnownFrames = 50'000;
constexpr std::string_view kNothing;

Result<std::uint32_t> Narrow(std::int64_t id) {
  if (id <= 0 || id > UINT32_MAX)
    return Error{ErrorCode::kCorrupt, "a row has a number that no store gives", {}};
  return static_cast<std::uint32_t>(id);
}

}  // namespace

std::size_t Interner::HashHash::operator()(const Hash128& hash) const {
  std::size_t first = 0;
  std::memcpy(&first, hash.data(), sizeof(first));
  return first;
}

Interner::Interner(Database& database)
    : database_(database),
      hosts_{PROFD_FIND("host"), PROFD_TOUCH("host"), {}},
      programs_{PROFD_FIND("program"), PROFD_TOUCH("program"), {}},
      processes_{PROFD_FIND("process"), PROFD_TOUCH("process"), {}},
      threads_{PROFD_FIND("thread"), PROFD_TOUCH("thread"), {}},
      modules_{PROFD_FIND("module"), PROFD_TOUCH("module"), {}},
      frames_{PROFD_FIND("frame"), PROFD_TOUCH("frame"), {}} {}

void Interner::Forget() {
  for (Table* table : {&hosts_, &programs_, &processes_, &threads_, &modules_, &frames_})
    table->known.clear();
  stacks_.clear();
}

Result<std::uint32_t> Interner::Touch(Entry& entry, const char* touch) {
  // One update per row and generation, not per window: most rows of a window were in the last one.
  if (entry.used < now_) {
    const auto statement = database_.Get(touch);
    if (!statement) return statement.error();
    PROFD_TRY((*statement)->With(now_, entry.id).Run());
    entry.used = now_;
  }
  return entry.id;
}

template <typename Add>
Result<std::uint32_t> Interner::Intern(Table& table, const Hash128& hash, const char* insert,
                                       const Add& add) {
  // A cached row that was last used before the oldest window may have been collected since.
  if (const auto known = table.known.find(hash);
      known != table.known.end() && known->second.used >= oldest_)
    return Touch(known->second, table.touch);
  const auto find = database_.Get(table.find);
  if (!find) return find.error();
  const auto found = (*find)->With(Blob(hash)).Step();
  if (!found) return found.error();
  Entry entry;
  if (*found) {
    const auto id = Narrow((*find)->Int(0));
    entry.used = (*find)->Int(1);
    (*find)->Reset();
    if (!id) return id.error();
    entry.id = *id;
  } else {
    const auto statement = database_.Get(insert);
    if (!statement) return statement.error();
    PROFD_TRY(add(**statement).Run());
    const auto id = Narrow(database_.LastRow());
    if (!id) return id.error();
    entry = Entry{*id, now_};
  }
  // A full cache is emptied. The rows in use are in it again after one window.
  if (table.known.size() >= (&table == &frames_ ? kMaxKnownFrames : kMaxKnown)) table.known.clear();
  return Touch(table.known.insert_or_assign(hash, entry).first->second, table.touch);
}

Result<std::uint32_t> Interner::Host(const aggregate::Profile& profile) {
  const Hash128 hash = HostHash(profile);
  return Intern(hosts_, hash, kAddHost, [&](Statement& add) -> Statement& {
    return add.With(Blob(hash), now_, profile.target, profile.host, profile.kernel, profile.hook,
                    profile.profd_version);
  });
}

Result<std::uint32_t> Interner::Program(const aggregate::ProfileProcess& process) {
  const Hash128 hash = ProgramHash(process);
  const std::string labels = LabelText(process.labels);  // lives until the statement has run
  return Intern(programs_, hash, kAddProgram, [&](Statement& add) -> Statement& {
    std::optional<std::string_view> version;
    std::optional<std::string_view> refused;
    if (process.interpreter) {
      version = process.interpreter->version;
      refused = process.interpreter->refused;
    }
    const std::optional<std::int64_t> uid = process.owner.uid;
    return add.With(Blob(hash), now_, process.command_line, process.executable, process.build_id,
                    process.cgroup, process.container, process.unit, uid, process.owner.sole,
                    process.owner.user, version, refused, labels);
  });
}

Result<std::uint32_t> Interner::Process(const aggregate::ProfileProcess& process) {
  const auto program = Program(process);
  if (!program) return program.error();
  const Hash128 hash = ContentHash(process);
  return Intern(processes_, hash, kAddProcess, [&](Statement& add) -> Statement& {
    return add.With(Blob(hash), now_, process.key.pid, process.key.start_ns, process.shown_pid,
                    process.comm, process.exited, *program, process.parent);
  });
}

Result<std::uint32_t> Interner::Thread(const aggregate::ProfileThread& thread) {
  const Hash128 hash = ContentHash(thread);
  return Intern(threads_, hash, kAddThread, [&](Statement& add) -> Statement& {
    return add.With(Blob(hash), now_, thread.key.tid, thread.key.start_ns, thread.shown_tid,
                    thread.comm);
  });
}

Result<std::optional<std::uint32_t>> Interner::NumberOf(const Table& table, const Hash128& hash) {
  if (const auto known = table.known.find(hash); known != table.known.end())
    return std::optional(known->second.id);
  const auto find = database_.Get(table.find);
  if (!find) return find.error();
  const auto found = (*find)->With(Blob(hash)).Step();
  if (!found) return found.error();
  if (!*found) return std::optional<std::uint32_t>();
  const auto id = Narrow((*find)->Int(0));
  (*find)->Reset();
  if (!id) return id.error();
  return std::optional(*id);
}

Result<void> Interner::RemoveRows(Table& table, const char* remove,
                                  const std::vector<Hash128>& hashes,
                                  const std::unordered_set<std::uint32_t>& needed) {
  for (const Hash128& hash : hashes) {
    const auto number = NumberOf(table, hash);
    if (!number) return number.error();
    if (!*number || needed.contains(**number)) continue;
    table.known.erase(hash);
    const auto statement = database_.Get(remove);
    if (!statement) return statement.error();
    PROFD_TRY((*statement)->With(**number).Run());
  }
  return {};
}

Result<void> Interner::Remove(const Rows& rows, const Needed& needed) {
  PROFD_TRY(RemoveRows(threads_, kDropThread, rows.threads, needed.threads));
  PROFD_TRY(RemoveRows(processes_, kDropProcess, rows.processes, needed.processes));
  return RemoveRows(programs_, kDropProgram, rows.programs, {});
}

void Interner::Rows::Add(const aggregate::Grouped& grouped) {
  for (const auto& thread : grouped.threads) threads.push_back(ContentHash(thread));
  for (aggregate::ProfileProcess process : grouped.processes) {
    programs.push_back(ProgramHash(process));
    processes.push_back(ContentHash(process));
    process.exited = false;  // as windows before its last one describe it
    processes.push_back(ContentHash(process));
    if (process.labels.empty()) continue;
    process.labels.clear();  // as those before its labels were known do
    programs.push_back(ProgramHash(process));
    processes.push_back(ContentHash(process));
  }
}

Result<std::uint32_t> Interner::Module(const symbolize::Frame& frame) {
  const Hash128 hash = ModuleHash(frame);
  return Intern(modules_, hash, kAddModule, [&](Statement& add) -> Statement& {
    if (!frame.origin)
      return add.With(Blob(hash), now_, frame.module, nullptr, kNothing, kNothing, kNothing,
                      kNothing, kNothing, kNothing);
    const auto& info = *frame.origin;
    return add.With(Blob(hash), now_, frame.module, info.path, info.build_id, info.symbols_from,
                    info.symbols_file, info.symbols_missing, info.debug_file, info.debug_missing);
  });
}

Result<std::uint32_t> Interner::Frame(const symbolize::Frame& frame) {
  const auto module = Module(frame);
  if (!module) return module.error();
  const Hash128 hash = ContentHash(frame);
  return Intern(frames_, hash, kAddFrame, [&](Statement& add) -> Statement& {
    return add.With(Blob(hash), now_, static_cast<int>(frame.kind), frame.inlined,
                    frame.interpreter, frame.name, frame.full_name, frame.symbol, *module,
                    frame.offset, frame.file, frame.line, frame.reason);
  });
}

// Stacks need no hash: parent and frame are numbers of the store, and identify the row.
Result<std::uint32_t> Interner::Stack(std::uint32_t parent, std::uint32_t frame) {
  const std::uint64_t key = std::uint64_t{parent} << 32 | frame;
  if (const auto known = stacks_.find(key); known != stacks_.end() && known->second.used >= oldest_)
    return Touch(known->second, kTouchStack);
  const auto find = database_.Get(kFindStack);
  if (!find) return find.error();
  const auto found = (*find)->With(parent, frame).Step();
  if (!found) return found.error();
  Entry entry;
  std::int64_t id = 0;
  if (*found) {
    id = (*find)->Int(0);
    entry.used = (*find)->Int(1);
    (*find)->Reset();
  } else {
    const auto add = database_.Get(kAddStack);
    if (!add) return add.error();
    PROFD_TRY((*add)->With(parent, frame, now_).Run());
    id = database_.LastRow();
    entry.used = now_;
  }
  const auto narrow = Narrow(id);
  if (!narrow) return narrow.error();
  entry.id = *narrow;
  if (stacks_.size() >= kMaxKnownFrames) stacks_.clear();
  return Touch(stacks_.insert_or_assign(key, entry).first->second, kTouchStack);
}

}  // namespace profd::store
