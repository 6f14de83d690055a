#include "daemon/store/sqlite/store_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/store/api/path_access.h"
#include "daemon/store/codec/content_hash.h"
#include "daemon/store/codec/label_text.h"

namespace profd::store {
namespace {

using aggregate::Profile;

// Rows of windows, in the order of ReadRow.
#define PROFD_WINDOW                                                                          \
  "SELECT w.id, w.generation, w.start_unix_ns, w.end_unix_ns, w.put_unix_ns, w.start_ns, "    \
  "w.end_ns, w.on_cpu, w.off_cpu, w.on_cpu_period_ns, w.off_cpu_period_ns, w.daemon_cpu_ns, " \
  "w.bpf_ns, h.target, h.host, h.kernel, h.hook, h.profd_version, w.folded "                  \
  "FROM window AS w LEFT JOIN host AS h ON h.id = w.host "
constexpr char kWindowsInRange[] =
    PROFD_WINDOW "WHERE w.start_unix_ns < ? AND w.end_unix_ns > ? ORDER BY w.id";
constexpr char kWindowsToCompact[] = PROFD_WINDOW "WHERE w.folded = 0 ORDER BY w.id";
constexpr char kCompactedAfter[] = PROFD_WINDOW "WHERE w.folded = 1 AND w.id > ? ORDER BY w.id";
constexpr char kWindowById[] = PROFD_WINDOW "WHERE w.id = ?";
#undef PROFD_WINDOW
constexpr char kPayload[] = "SELECT data FROM payload WHERE window = ?";
constexpr char kHasPaths[] = "SELECT count(*) FROM sqlite_master WHERE name = 'path_payload'";
constexpr char kPaths[] = "SELECT data FROM path_payload WHERE window = ?";
constexpr char kCounters[] = "SELECT list, name, text, count FROM counter WHERE window = ?";
constexpr char kPeriods[] =
    "SELECT time_ns, on_cpu_period_ns, off_cpu_period_ns FROM period WHERE window = ? "
    "ORDER BY rowid";
#define PROFD_PROCESS(LABELS)                                                           \
  "SELECT pid, start_ns, shown_pid, comm, command_line, executable, build_id, cgroup, " \
  "container, unit, uid, sole, user, exited, python, python_refused, process.hash, "    \
  "parent, " LABELS " FROM process JOIN program ON program.id = program WHERE process.id = ?"
constexpr char kProcess[] = PROFD_PROCESS("labels");
constexpr char kProcessWithoutLabels[] = PROFD_PROCESS("''");
#undef PROFD_PROCESS
constexpr char kHasLabels[] =
    "SELECT count(*) FROM pragma_table_info('program') WHERE name = 'labels'";
constexpr char kThread[] = "SELECT tid, start_ns, shown_tid, comm, hash FROM thread WHERE id = ?";
constexpr char kStack[] = "SELECT parent, frame FROM stack WHERE id = ?";
constexpr char kFrame[] =
    "SELECT kind, inlined, interpreter, name, full_name, symbol, module, offset, file, line, "
    "reason, hash FROM frame WHERE id = ?";
constexpr char kModule[] =
    "SELECT path, info_path, build_id, symbols_from, symbols_file, symbols_missing, debug_file, "
    "debug_missing FROM module WHERE id = ?";

constexpr std::size_t kMaxKnown = 200'000;
constexpr char kUnreadable[] = "[unreadable in the store]";

// SQLite has signed integers only; "no end" must not become a negative time.
std::int64_t Clamp(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
}

// A damaged row has another hash than the stored one. Rows have no checksum besides it.
bool IsHash(Blob stored, const Hash128& hash) {
  return std::equal(stored.begin(), stored.end(), hash.begin(), hash.end());
}

void ReadRow(const Statement& row, WindowRow& window) {
  Profile& head = window.head;
  window.id = row.Int(0);
  window.generation = row.Int(1);
  head.start_unix_ns = row.Uint(2);
  window.end_unix_ns = row.Uint(3);
  window.put_unix_ns = row.Uint(4);
  head.start_ns = row.Uint(5);
  head.end_ns = std::max(head.start_ns, row.Uint(6));  // differences of the two are unsigned
  head.on_cpu = row.Int(7) != 0;
  head.off_cpu = row.Int(8) != 0;
  head.on_cpu_period_ns = row.Uint(9);
  head.off_cpu_period_ns = row.Uint(10);
  head.cost.daemon_cpu_ns = row.Uint(11);
  head.cost.bpf_ns = row.Uint(12);
  head.target = row.Text(13);
  head.host = row.Text(14);
  head.kernel = row.Text(15);
  head.hook = row.Text(16);
  head.profd_version = row.Text(17);
  window.compacted = row.Int(18) != 0;
}

}  // namespace

Result<std::vector<WindowRow>> StoreReader::ReadRows(Statement& statement) {
  std::vector<WindowRow> rows;
  for (;;) {
    const auto row = statement.Step();
    if (!row) return row.error();
    if (!*row) return rows;
    ReadRow(statement, rows.emplace_back());
  }
}

Result<std::vector<WindowRow>> StoreReader::Windows(const TimeRange& range) {
  const auto statement = database_.Get(kWindowsInRange);
  if (!statement) return statement.error();
  return ReadRows((*statement)->With(Clamp(range.to_unix_ns), Clamp(range.from_unix_ns)));
}

Result<std::vector<WindowRow>> StoreReader::WindowsToCompact() {
  const auto statement = database_.Get(kWindowsToCompact);
  if (!statement) return statement.error();
  return ReadRows((*statement)->With());
}

Result<std::vector<WindowRow>> StoreReader::CompactedAfter(std::int64_t id) {
  const auto statement = database_.Get(kCompactedAfter);
  if (!statement) return statement.error();
  return ReadRows((*statement)->With(id));
}

Result<WindowRow> StoreReader::Window(std::int64_t id) {
  const auto statement = database_.Get(kWindowById);
  if (!statement) return statement.error();
  auto rows = ReadRows((*statement)->With(id));
  if (!rows) return rows.error();
  if (rows->empty()) return Error{ErrorCode::kNotFound, "no such window in the store", {}};
  return std::move(rows->front());
}

Result<void> StoreReader::ReadCounters(WindowRow& row) {
  const auto statement = database_.Get(kCounters);
  if (!statement) return statement.error();
  Statement& counters = (*statement)->With(row.id);
  for (;;) {
    const auto got = counters.Step();
    if (!got) return got.error();
    if (!*got) return {};
    const std::string list = counters.Text(0);
    auto& to = list == "lost"      ? row.head.lost
               : list == "dropped" ? row.head.dropped
                                   : row.head.counters;
    to.push_back({counters.Text(1), counters.Text(2), counters.Uint(3)});
  }
}

Result<void> StoreReader::ReadPeriods(WindowRow& row) {
  const auto statement = database_.Get(kPeriods);
  if (!statement) return statement.error();
  Statement& periods = (*statement)->With(row.id);
  for (;;) {
    const auto got = periods.Step();
    if (!got) return got.error();
    if (!*got) return {};
    row.head.periods.push_back({periods.Uint(0), periods.Uint(1), periods.Uint(2)});
  }
}

bool StoreReader::HasLabels() {
  if (!has_labels_) {
    // A damaged file may be of an older version.
    const auto columns = database_.Pragma(kHasLabels);
    has_labels_ = columns && *columns != 0;
  }
  return *has_labels_;
}

const StoreReader::KnownProcess* StoreReader::Process(std::uint32_t id) {
  if (const auto known = processes_.find(id); known != processes_.end()) return &known->second;
  const auto statement = database_.Get(HasLabels() ? kProcess : kProcessWithoutLabels);
  if (!statement) return nullptr;
  Statement& row = (*statement)->With(id);
  const auto got = row.Step();
  if (!got || !*got) return nullptr;
  KnownProcess known;
  auto& process = known.process;
  process.key = {static_cast<std::uint32_t>(row.Int(0)), row.Uint(1)};
  process.shown_pid = static_cast<std::uint32_t>(row.Int(2));
  process.comm = row.Text(3);
  process.command_line = row.Text(4);
  process.executable = row.Text(5);
  process.build_id = row.Text(6);
  process.cgroup = row.Text(7);
  process.container = row.Text(8);
  process.unit = row.Text(9);
  if (!row.IsNull(10)) process.owner.uid = static_cast<std::uint32_t>(row.Int(10));
  process.owner.sole = row.Int(11) != 0;
  process.owner.user = row.Text(12);
  process.exited = row.Int(13) != 0;
  if (!row.IsNull(14))
    process.interpreter = std::make_shared<const process::PythonInterpreter>(
        process::PythonInterpreter{row.Text(14), row.Text(15)});
  process.parent = row.Text(17);
  process.labels = LabelsFromText(row.Text(18));
  const bool whole = IsHash(row.Bytes(16), ContentHash(process));
  row.Reset();
  if (!whole) return nullptr;
  // The filter is evaluated once per process, not once per window.
  known.wanted = Matches(filter_, process);
  if (processes_.size() >= kMaxKnown) processes_.clear();
  return &processes_.emplace(id, std::move(known)).first->second;
}

const StoreReader::KnownThread* StoreReader::Thread(std::uint32_t id) {
  if (const auto known = threads_.find(id); known != threads_.end()) return &known->second;
  const auto statement = database_.Get(kThread);
  if (!statement) return nullptr;
  Statement& row = (*statement)->With(id);
  const auto got = row.Step();
  if (!got || !*got) return nullptr;
  KnownThread known;
  auto& thread = known.thread;
  thread.key = {static_cast<std::uint32_t>(row.Int(0)), row.Uint(1)};
  thread.shown_tid = static_cast<std::uint32_t>(row.Int(2));
  thread.comm = row.Text(3);
  const bool whole = IsHash(row.Bytes(4), ContentHash(thread));
  row.Reset();
  if (!whole) return nullptr;
  known.wanted = Matches(filter_, thread);
  if (threads_.size() >= kMaxKnown) threads_.clear();
  return &threads_.emplace(id, std::move(known)).first->second;
}

Result<StoredWindow> StoreReader::ReadPayload(const WindowRow& row, WithPaths with_paths,
                                              const WantsThread& wants) {
  std::optional<std::string> paths;
  if (with_paths == WithPaths::kYes) {
    auto read = ReadPaths(row.id);
    if (!read) return read.error();
    paths = *std::move(read);
  }
  const auto statement = database_.Get(kPayload);
  if (!statement) return statement.error();
  Statement& payload = (*statement)->With(row.id);
  const auto got = payload.Step();
  if (!got) return got.error();
  if (!*got) return Error{ErrorCode::kCorrupt, "a window has no payload", {}};
  EncodedBytes bytes{.data = payload.Bytes(0), .paths = std::nullopt};
  if (paths) bytes.paths = std::as_bytes(std::span(*paths));
  auto stored = DecodeWindow(bytes, row.head.start_ns, row.head.end_ns, wants);
  payload.Reset();
  return stored;
}

Result<std::optional<std::string>> StoreReader::ReadPaths(std::int64_t window) {
  if (!has_paths_) {
    // A damaged file may be of an older version.
    const auto tables = database_.Pragma(kHasPaths);
    if (!tables) return tables.error();
    has_paths_ = *tables != 0;
  }
  if (!*has_paths_) return std::optional<std::string>();
  const auto statement = database_.Get(kPaths);
  if (!statement) return statement.error();
  Statement& row = (*statement)->With(window);
  const auto got = row.Step();
  if (!got) return got.error();
  if (!*got) return std::optional<std::string>();
  const Blob data = row.Bytes(0);
  std::optional<std::string> paths(std::in_place, reinterpret_cast<const char*>(data.data()),
                                   data.size());
  row.Reset();
  return paths;
}

Result<void> StoreReader::AddPaths(StoredWindow& stored, Profile& profile) {
  profile.wakers = stored.wakers;
  profile.paths = std::move(stored.paths);
  profile.wake_ups = std::move(stored.wake_ups);
  profile.path_threads.resize(stored.path_threads.size());
  // Most of a host's paths are of threads that this query does not want.
  const std::vector<bool> used = UsedPathThreads(profile);
  std::vector<bool> hidden(used.size(), false);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const StoredPathThread& from = stored.path_threads[i];
    aggregate::PathThread& thread = profile.path_threads[i];
    if (!from.is_row) {
      // Whose it was is not known.
      hidden[i] = filter_.exclusive_owner.has_value();
      thread = NamedPathThread(from.comm, from.process_comm);
      continue;
    }
    const KnownProcess* process = Process(from.process);
    const KnownThread* known = Thread(from.number);
    if (process == nullptr || known == nullptr)
      return Error{ErrorCode::kCorrupt, "the threads of a window's paths are damaged", {}};
    hidden[i] = !MaySeeOnPaths(filter_, process->process);
    thread = DescribePathThread(known->thread, process->process);
  }
  HidePathThreads(hidden, profile);
  return {};
}

Result<void> StoreReader::AddNumbers(const WindowRow& row, Interner::Needed& needed) {
  const auto stored = ReadPayload(row, WithPaths::kNo, [&](const StoredThread& thread) {
    needed.processes.insert(thread.process);
    needed.threads.insert(thread.number);
    return false;
  });
  return stored ? Result<void>() : Result<void>(stored.error());
}

Result<Profile> StoreReader::Read(const WindowRow& row) {
  WindowRow window = row;
  PROFD_TRY(ReadCounters(window));
  PROFD_TRY(ReadPeriods(window));
  Profile profile = std::move(window.head);
  HideOthers(filter_, profile.counters);
  // The filter runs while the payload is decoded: a query for one process skips the samples of all
  // others, which is most of the work.
  bool whole = true;
  std::unordered_map<std::uint32_t, std::uint32_t> process_of;
  auto stored = ReadPayload(row, WithPaths::kYes, [&](const StoredThread& thread) {
    const KnownProcess* process = Process(thread.process);
    whole = whole && process != nullptr;
    if (process == nullptr || !process->wanted) return false;
    const KnownThread* known = Thread(thread.number);
    whole = whole && known != nullptr;
    if (known == nullptr || !known->wanted) return false;
    const auto next = static_cast<std::uint32_t>(profile.processes.size());
    if (process_of.try_emplace(thread.process, next).second)
      profile.processes.push_back(process->process);
    auto& size = profile.processes[process_of[thread.process]].group_size;
    size = std::max(size, thread.process_group_size);
    return true;
  });
  if (!stored) return stored.error();
  // Without its process, a thread cannot be matched with the filter, which also is the limit of
  // what a client may see. So the whole window is refused.
  if (!whole) return Error{ErrorCode::kCorrupt, "a window's processes are damaged", {}};
  for (StoredThread& from : stored->threads) {
    // A full cache may have been cleared since the thread was matched.
    const KnownThread* known = Thread(from.number);
    if (known == nullptr) return Error{ErrorCode::kCorrupt, "a window's threads are damaged", {}};
    from.thread.key = known->thread.key;
    from.thread.shown_tid = known->thread.shown_tid;
    from.thread.comm = known->thread.comm;
    from.thread.process = process_of[from.process];
    profile.threads.push_back(std::move(from.thread));
  }
  std::copy_if(stored->samples.begin(), stored->samples.end(), std::back_inserter(profile.samples),
               [&](const auto& sample) { return Matches(filter_, sample); });
  PROFD_TRY(AddPaths(*stored, profile));
  return profile;
}

aggregate::StackNode StoreReader::Stack(std::uint32_t id) {
  const auto statement = database_.Get(kStack);
  if (!statement) return {};
  Statement& row = (*statement)->With(id);
  const auto got = row.Step();
  if (!got || !*got) return {};  // the root: the stack is cut here
  const aggregate::StackNode node{static_cast<std::uint32_t>(row.Int(0)),
                                  static_cast<std::uint32_t>(row.Int(1))};
  row.Reset();
  return node;
}

symbolize::Frame StoreReader::Frame(std::uint32_t id) {
  if (auto frame = ReadFrame(id)) return *std::move(frame);
  ++unreadable_;
  symbolize::Frame frame;
  frame.kind = symbolize::FrameKind::kPseudo;
  frame.name = kUnreadable;
  return frame;
}

std::optional<symbolize::Frame> StoreReader::ReadFrame(std::uint32_t id) {
  const auto statement = database_.Get(kFrame);
  if (!statement) return std::nullopt;
  Statement& row = (*statement)->With(id);
  const auto got = row.Step();
  if (!got || !*got) return std::nullopt;
  symbolize::Frame frame;
  const std::int64_t kind = row.Int(0);
  frame.kind = static_cast<symbolize::FrameKind>(kind);
  frame.inlined = row.Int(1) != 0;
  frame.interpreter = row.Int(2) != 0;
  frame.name = row.Text(3);
  frame.full_name = row.Text(4);
  frame.symbol = row.Text(5);
  const std::int64_t module = row.Int(6);
  frame.offset = row.Uint(7);
  frame.file = row.Text(8);
  frame.line = static_cast<std::uint32_t>(row.Int(9));
  frame.reason = row.Text(10);
  const bool good = kind >= 0 && kind <= static_cast<int>(symbolize::FrameKind::kPseudo) &&
                    ReadModule(module, frame) && IsHash(row.Bytes(11), ContentHash(frame));
  row.Reset();
  if (!good) return std::nullopt;
  return frame;
}

bool StoreReader::ReadModule(std::int64_t id, symbolize::Frame& frame) {
  if (const auto known = modules_.find(id); known != modules_.end()) {
    frame.module = known->second.first;
    frame.origin = known->second.second;
    return true;
  }
  const auto statement = database_.Get(kModule);
  if (!statement) return false;
  Statement& row = (*statement)->With(id);
  const auto got = row.Step();
  if (!got || !*got) return false;
  frame.module = row.Text(0);
  if (!row.IsNull(1))
    frame.origin = std::make_shared<const symbolize::ModuleInfo>(symbolize::ModuleInfo{
        row.Text(1), row.Text(2), row.Text(3), row.Text(4), row.Text(5), row.Text(6), row.Text(7)});
  row.Reset();
  modules_.emplace(id, std::pair(frame.module, frame.origin));
  return true;
}

}  // namespace profd::store
