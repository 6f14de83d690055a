#include "daemon/store/sqlite/store_tail.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "daemon/base/sqlite/database.h"
#include "daemon/store/sqlite/schema.h"
#include "daemon/store/sqlite/store_reader.h"

namespace profd::store {
namespace {

// Windows with a longer gap between them are no part of one profile.
constexpr std::uint64_t kGapNs = 1'000'000'000;
constexpr char kFirstWindow[] = "SELECT min(id) FROM window";

Result<Database> OpenToRead(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0)
    return Error{ErrorCode::kNotFound, "there is no history yet at " + path, ""};
  auto database = Database::Open(path, false, nullptr);
  if (!database) return database.error();
  PROFD_TRY(PrepareForReading(*database));
  return database;
}

// How many of the rows make one part; 0: it is not complete yet. The last `open` of them are not
// compacted.
std::size_t RowsOfPart(std::span<const WindowRow> rows, std::size_t open,
                       const TailOptions& options, std::uint64_t now_unix_ns) {
  const std::uint64_t interval = std::max<std::uint64_t>(options.interval_ns, 1);
  const std::uint64_t number = rows[0].head.start_unix_ns / interval;
  const std::size_t compacted = rows.size() - open;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const aggregate::Profile& before = rows[i - 1].head;
    const aggregate::Profile& window = rows[i].head;
    const bool follows =
        window.start_ns >= before.end_ns && window.start_ns - before.end_ns <= kGapNs;
    if (!follows || window.start_unix_ns / interval != number) return std::min(i, compacted);
  }
  const bool is_over = now_unix_ns > (number + 1) * interval + options.grace_ns;
  return is_over ? compacted : 0;
}

// Time that the history has dropped behind the cursor, at most: profd may not have run all the
// time.
Result<std::uint64_t> DroppedNs(Database& database, const TailCursor& cursor,
                                const WindowRow& first) {
  if (cursor.end_unix_ns == 0 || first.head.start_unix_ns <= cursor.end_unix_ns)
    return std::uint64_t{0};
  const std::uint64_t missing_ns = first.head.start_unix_ns - cursor.end_unix_ns;
  const auto oldest = database.Pragma(kFirstWindow);
  if (!oldest) return oldest.error();
  const bool is_oldest = *oldest == first.id;
  return is_oldest ? missing_ns : 0;
}

}  // namespace

Result<TailCursor> StoreTail::End() const {
  auto database = OpenToRead(options_.path);
  if (!database) return database.error();
  const auto transaction = Transaction::Begin(*database, false);
  if (!transaction) return transaction.error();
  const auto file = FileIdentity(*database);
  if (!file) return file.error();
  const Filter all;
  const auto rows = StoreReader(*database, all).CompactedAfter(0);
  if (!rows) return rows.error();
  if (rows->empty()) return TailCursor{*file, 0, 0};
  return TailCursor{*file, rows->back().id, rows->back().end_unix_ns};
}

Result<std::optional<TailPart>> StoreTail::Next(const TailCursor& cursor,
                                                std::uint64_t now_unix_ns) const {
  auto database = OpenToRead(options_.path);
  if (!database) return database.error();
  const auto transaction = Transaction::Begin(*database, false);
  if (!transaction) return transaction.error();
  const auto file = FileIdentity(*database);
  if (!file) return file.error();
  const Filter all;
  StoreReader reader(*database, all);
  const bool same = *file == cursor.file;
  auto rows = reader.CompactedAfter(same ? cursor.window : 0);
  if (!rows) return rows.error();
  // Numbers of another file say nothing. It has what could be saved of the old one, too.
  if (!same)
    std::erase_if(*rows, [&](const auto& row) { return row.end_unix_ns <= cursor.end_unix_ns; });
  if (rows->empty()) return std::optional<TailPart>();
  // The first window behind them says whether more can belong to their span.
  const auto open = reader.WindowsToCompact();
  if (!open) return open.error();
  const auto behind = std::ranges::find_if(
      *open, [last = rows->back().id](const auto& row) { return row.id > last; });
  const bool any = behind != open->end();
  if (any) rows->push_back(*behind);
  const std::size_t count = RowsOfPart(*rows, any ? 1 : 0, options_, now_unix_ns);
  if (count == 0) return std::optional<TailPart>();

  TailPart part;
  const auto dropped = DroppedNs(*database, cursor, rows->front());
  if (!dropped) return dropped.error();
  part.dropped_ns = *dropped;
  part.from_unix_ns = rows->front().head.start_unix_ns;
  part.to_unix_ns = (*rows)[count - 1].end_unix_ns;
  part.next = {*file, (*rows)[count - 1].id, part.to_unix_ns};
  aggregate::ProfileMerge merge(options_.limits);
  for (const WindowRow& row : std::span(*rows).first(count)) {
    const auto window = reader.Read(row);
    if (window)
      merge.Add(*window);
    else
      part.unreadable_ns += row.head.end_ns - row.head.start_ns;
  }
  part.profile = merge.Finish([&](std::uint32_t node) { return reader.Stack(node); },
                              [&](std::uint32_t frame) { return reader.Frame(frame); });
  return std::optional<TailPart>(std::move(part));
}

}  // namespace profd::store
