#include "daemon/fleet/tables/table_encoder.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <bit>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "daemon/fleet/tables/content_hash.h"
#include "daemon/fleet/tables/fleet_rows.h"
#include "daemon/fleet/tables/sections.h"
#include "daemon/process/wait_reason.h"
#include "tests/unit/store/window_maker.h"

namespace profd::fleet {
namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr std::size_t kVersion2Bytes = 24'442;
constexpr std::uint64_t kVersion2Hash = 15197308147641479377ull;

// Of a window whose history knows who ends waits.
ExportProfile ExportedOnWhom(Paths paths = Paths::kKept) {
  return MakeExportProfile(store::MakeWindow(0, {.wakers = true}), What::kWall,
                           *Relabelling::Make({}), nullptr, paths);
}

ExportProfile Exported(const std::vector<RelabelRule>& rules = {}) {
  return MakeExportProfile(store::MakeWindow(0), What::kWall, *Relabelling::Make(rules), nullptr);
}

std::string Inflated(std::string_view packed) {
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, kGzipWindow), Z_OK);
  std::string bytes(16u << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  ::inflateEnd(&stream);
  return bytes;
}

std::string Unpacked(const Section& section) {
  if (section.encoding == ContentEncoding::kNone) return std::string(section.body);
  if (section.encoding == ContentEncoding::kGzip) return Inflated(section.body);
  std::string bytes(16u << 20, '\0');
  const std::size_t length =
      ::ZSTD_decompress(bytes.data(), bytes.size(), section.body.data(), section.body.size());
  EXPECT_EQ(::ZSTD_isError(length), 0u);
  bytes.resize(length);
  return bytes;
}

// Reads what RowBinary has written, field by field.
class Rows {
 public:
  explicit Rows(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] bool more() const { return at_ < bytes_.size(); }
  std::uint64_t Number(std::size_t width) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < width; ++i)
      number |= std::uint64_t{static_cast<unsigned char>(bytes_.at(at_++))} << (8 * i);
    return number;
  }
  std::uint64_t Length() {
    std::uint64_t length = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = Number(1);
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) return length;
    }
  }
  std::string Text() {
    const std::size_t length = Length();
    EXPECT_LE(length, bytes_.size() - at_);
    at_ += length;
    return bytes_.substr(at_ - length, length);
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts(Length());
    for (std::string& text : texts) text = Text();
    return texts;
  }
  std::vector<std::uint64_t> Array(std::size_t width) {
    std::vector<std::uint64_t> numbers(Length());
    for (std::uint64_t& number : numbers) number = Number(width);
    return numbers;
  }
  std::map<std::string, std::string> Labels() {
    std::map<std::string, std::string> map;
    for (auto left = Length(); left > 0; --left) {
      std::string name = Text();
      map[name] = Text();
    }
    return map;
  }
  std::map<std::string, std::uint64_t> Numbers() {
    std::map<std::string, std::uint64_t> map;
    for (auto left = Length(); left > 0; --left) {
      std::string name = Text();
      map[name] = Number(8);
    }
    return map;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

struct Stack {
  std::vector<std::string> functions, modules, files;
  std::vector<std::uint8_t> kinds;
};
struct Path {
  std::vector<std::string> waits, threads, services;
  std::vector<std::uint64_t> kinds, hows, own, stacks;
  bool estimated = false;
};
struct Sample {
  std::string service, wait, host, version, zone, name_space, pod, container, unit, executable,
      thread;
  std::uint64_t time = 0, hash = 0, path = 0, state = 0, ns = 0, count = 0;
  std::map<std::string, std::string> labels;
};
using ClockKey = std::tuple<std::string, std::uint64_t, std::string>;  // service, state, wait
struct Window {
  std::string host, zone, profd_version;
  std::uint64_t time = 0, rows = 0, other_ns = 0;
  double seconds = 0;
  std::map<std::string, std::uint64_t> gaps, lost;
};

struct Decoded {
  std::map<std::pair<std::string, std::uint64_t>, Stack> stacks;
  std::map<std::pair<std::string, std::uint64_t>, Path> paths;
  std::vector<Sample> samples;
  std::map<ClockKey, std::uint64_t> clocks;
  std::vector<Window> windows;
  std::vector<FleetTable> order;
  std::size_t largest = 0;
};

void DecodeStack(Rows& rows, Decoded& to) {
  const std::string service = rows.Text();
  const std::uint64_t hash = rows.Number(8);
  EXPECT_EQ(rows.Number(4), store::kStartUnixNs / store::kSecond);
  Stack stack{rows.Texts(), rows.Texts(), rows.Texts(), {}};
  stack.kinds.resize(rows.Length());
  for (auto& kind : stack.kinds) kind = static_cast<std::uint8_t>(rows.Number(1));
  EXPECT_EQ(stack.functions.size(), stack.modules.size());
  EXPECT_EQ(stack.functions.size(), stack.files.size());
  EXPECT_EQ(stack.functions.size(), stack.kinds.size());
  EXPECT_TRUE(to.stacks.emplace(std::pair(service, hash), std::move(stack)).second);
}

void DecodePath(Rows& rows, Decoded& to) {
  const std::string service = rows.Text();
  const std::uint64_t hash = rows.Number(8);
  EXPECT_EQ(rows.Number(4), store::kStartUnixNs / store::kSecond);
  Path path{.kinds = rows.Array(1), .hows = rows.Array(1)};
  path.waits = rows.Texts();
  path.threads = rows.Texts();
  path.services = rows.Texts();
  path.own = rows.Array(1);
  path.stacks = rows.Array(8);
  path.estimated = rows.Number(1) != 0;
  for (const std::size_t size : {path.hows.size(), path.waits.size(), path.threads.size(),
                                 path.services.size(), path.own.size(), path.stacks.size()})
    EXPECT_EQ(size, path.kinds.size());
  EXPECT_TRUE(to.paths.emplace(std::pair(service, hash), std::move(path)).second);
}

void DecodeSample(Rows& rows, bool has_paths, Decoded& to) {
  Sample row;
  row.service = rows.Text();
  row.time = rows.Number(4);
  row.hash = rows.Number(8);
  if (has_paths) row.path = rows.Number(8);
  row.state = rows.Number(1);
  for (std::string* text : {&row.wait, &row.host, &row.version, &row.zone, &row.name_space,
                            &row.pod, &row.container, &row.unit, &row.executable, &row.thread})
    *text = rows.Text();
  row.labels = rows.Labels();
  row.ns = rows.Number(8);
  row.count = rows.Number(4);
  to.samples.push_back(std::move(row));
}

void DecodeClock(Rows& rows, Decoded& to) {
  const std::string service = rows.Text();
  EXPECT_EQ(rows.Number(4), store::kStartUnixNs / store::kSecond);
  EXPECT_EQ(rows.Text(), "testhost");
  for (int i = 0; i < 4; ++i) (void)rows.Text();
  const std::uint64_t state = rows.Number(1);
  const std::string wait = rows.Text();
  to.clocks[{service, state, wait}] += rows.Number(8);
}

void DecodeWindow(Rows& rows, Decoded& to) {
  Window window;
  window.host = rows.Text();
  window.time = rows.Number(4);
  EXPECT_EQ(rows.Number(4), store::kStartUnixNs % store::kSecond);
  window.seconds = std::bit_cast<double>(rows.Number(8));
  window.zone = rows.Text();
  window.profd_version = rows.Text();
  window.rows = rows.Number(4);
  window.other_ns = rows.Number(8);
  window.gaps = rows.Numbers();
  window.lost = rows.Numbers();
  to.windows.push_back(std::move(window));
}

Decoded Decode(const std::string& payload) {
  Decoded decoded;
  const auto sections = UnpackSections(payload);
  EXPECT_TRUE(sections);
  for (const Section& section : *sections) {
    decoded.order.push_back(section.table);
    std::string body = Unpacked(section);
    decoded.largest = std::max(decoded.largest, body.size());
    Rows rows(std::move(body));
    while (rows.more()) {
      switch (section.table) {
        case FleetTable::kStack:
          DecodeStack(rows, decoded);
          break;
        case FleetTable::kSample:
          DecodeSample(rows, section.has_paths, decoded);
          break;
        case FleetTable::kClock:
          DecodeClock(rows, decoded);
          break;
        case FleetTable::kHostWindow:
          DecodeWindow(rows, decoded);
          break;
        case FleetTable::kPath:
          DecodePath(rows, decoded);
          break;
      }
    }
  }
  return decoded;
}

std::map<ClockKey, std::uint64_t> SumsOf(const ExportProfile& profile) {
  std::map<ClockKey, std::uint64_t> sums;
  for (const ExportRow& row : profile.rows)
    sums[{profile.label_sets[row.labels].at("service.name"),
          static_cast<std::uint64_t>(row.part) + 1,
          std::string(process::WaitReasonName(row.wait))}] += row.ns;
  return sums;
}

std::map<ClockKey, std::uint64_t> SumsOf(const std::vector<Sample>& samples) {
  std::map<ClockKey, std::uint64_t> sums;
  for (const Sample& row : samples) sums[{row.service, row.state, row.wait}] += row.ns;
  return sums;
}

TEST(TableEncoderTest, EveryFieldReadsBack) {
  ExportProfile profile = Exported();
  profile.gaps = {{"spool_full", 90}};
  SentStacks sent;
  const Decoded decoded = Decode(EncodeTables(profile, {}, sent));
  EXPECT_TRUE(std::ranges::is_sorted(decoded.order));
  EXPECT_EQ(decoded.order.size(), kFleetTables);
  ASSERT_FALSE(decoded.samples.empty());
  for (const Sample& row : decoded.samples) {
    EXPECT_EQ(row.time, profile.start_unix_ns / store::kSecond);
    EXPECT_EQ(row.host, "testhost");
    EXPECT_NE(row.executable, "");
    EXPECT_FALSE(row.labels.contains("host.name") || row.labels.contains("service.name") ||
                 row.labels.contains("__process.pid"));
    EXPECT_TRUE(row.state >= 1 && row.state <= 5);
    EXPECT_EQ(row.wait.empty(), row.state != 4);
    ASSERT_TRUE(decoded.stacks.contains({row.service, row.hash}));
    const Stack& stack = decoded.stacks.at({row.service, row.hash});
    EXPECT_EQ(stack.functions[0] == "[stolen]", row.state == 5);
  }
  EXPECT_EQ(SumsOf(decoded.samples), SumsOf(profile));
  EXPECT_EQ(decoded.clocks, SumsOf(profile));
  ASSERT_EQ(decoded.windows.size(), 1u);
  const Window& window = decoded.windows[0];
  EXPECT_EQ(window.host, "testhost");
  EXPECT_EQ(window.seconds, static_cast<double>(profile.duration_ns) / 1e9);
  EXPECT_EQ(window.profd_version, profile.profd_version);
  EXPECT_EQ(window.rows, decoded.samples.size());
  EXPECT_EQ(window.other_ns, 0u);
  EXPECT_EQ(window.gaps, (std::map<std::string, std::uint64_t>{{"spool_full", 90}}));
  EXPECT_EQ(window.lost.at("ring_full"), 1u);
}

TEST(TableEncoderTest, SumsAreClosedUnderAnyLimit) {
  const ExportProfile profile = Exported();
  std::set<std::tuple<std::uint32_t, Part, process::WaitReason>> sets;
  for (const ExportRow& row : profile.rows) sets.emplace(row.labels, row.part, row.wait);
  SentStacks unused;
  const std::vector<Sample> all = Decode(EncodeTables(profile, {.rows = 100'000}, unused)).samples;
  for (const std::size_t most : {0u, 1u, 7u, 40u, 1'000u, 100'000u}) {
    SentStacks sent;
    const Decoded decoded = Decode(EncodeTables(profile, {.rows = most}, sent));
    EXPECT_EQ(SumsOf(decoded.samples), SumsOf(profile)) << most;
    EXPECT_EQ(decoded.clocks, SumsOf(profile)) << most;
    std::uint64_t other_ns = 0;
    std::size_t kept = 0;
    for (const Sample& row : decoded.samples) {
      const Stack& stack = decoded.stacks.at({row.service, row.hash});
      if (stack.functions[0] == kOtherStack) {
        other_ns += row.ns;
        EXPECT_EQ(row.thread, "");
        EXPECT_EQ(stack.kinds, std::vector<std::uint8_t>{4});
      } else {
        ++kept;
      }
    }
    EXPECT_LE(kept, most);
    // The limit is of all rows, but for sets that are more than half of it.
    EXPECT_LE(decoded.samples.size(), std::max(most, most / 2 + sets.size())) << most;
    EXPECT_GE(kept, std::min(most / 2, all.size())) << most;
    EXPECT_EQ(decoded.windows[0].other_ns, other_ns) << most;
    EXPECT_EQ(decoded.windows[0].rows, decoded.samples.size());
  }
}

TEST(TableEncoderTest, TheLimitKeepsWhatTakesMostTime) {
  const ExportProfile profile = Exported();
  SentStacks sent;
  const Decoded all = Decode(EncodeTables(profile, {}, sent));
  SentStacks again;
  const Decoded some = Decode(EncodeTables(profile, {.rows = 20}, again));
  std::multiset<std::uint64_t> times;
  for (const Sample& row : all.samples) times.insert(row.ns);
  const std::uint64_t least = *std::prev(times.end(), 20);
  for (const Sample& row : some.samples)
    EXPECT_TRUE(row.ns >= least ||
                some.stacks.at({row.service, row.hash}).functions[0] == kOtherStack);
}

TEST(TableEncoderTest, StacksGoOutOnceIfTheyAreDelivered) {
  const ExportProfile profile = Exported();
  SentStacks sent;
  const std::string first = EncodeTables(profile, {}, sent);
  EXPECT_FALSE(Decode(first).stacks.empty());
  EXPECT_EQ(Decode(EncodeTables(profile, {}, sent)).stacks.size(), Decode(first).stacks.size())
      << "it may be lost";
  sent.Delivered(first);
  EXPECT_TRUE(Decode(EncodeTables(profile, {}, sent)).stacks.empty());
}

TEST(TableEncoderTest, LargeTablesAreSplit) {
  const ExportProfile profile = Exported();
  SentStacks sent;
  const Decoded whole = Decode(EncodeTables(profile, {.encoding = ContentEncoding::kNone}, sent));
  SentStacks again;
  const std::string payload =
      EncodeTables(profile, {.body_bytes = 4'000, .encoding = ContentEncoding::kNone}, again);
  const Decoded split = Decode(payload);
  EXPECT_GT(split.order.size(), kFleetTables + 4);
  EXPECT_LE(split.largest, 4'000u);
  EXPECT_EQ(SumsOf(split.samples), SumsOf(whole.samples));
  EXPECT_EQ(split.stacks.size(), whole.stacks.size());
  // Parts of a table are numbered: their tokens differ.
  std::set<std::pair<FleetTable, std::uint32_t>> parts;
  const auto sections = UnpackSections(payload);
  for (const Section& section : *sections)
    EXPECT_TRUE(parts.emplace(section.table, section.part).second);
}

TEST(TableEncoderTest, AProfileWithoutRowsIsAWindow) {
  const ExportProfile profile = Exported(
      {{.action = RelabelAction::kDrop, .source_labels = {"service.name"}, .regex = ".*"}});
  SentStacks sent;
  const Decoded decoded = Decode(EncodeTables(profile, {}, sent));
  EXPECT_TRUE(decoded.samples.empty());
  ASSERT_EQ(decoded.windows.size(), 1u);
  EXPECT_EQ(decoded.windows[0].rows, 0u);
}

TEST(SectionsTest, DamageIsSeen) {
  SentStacks sent;
  const std::string payload = EncodeTables(Exported(), {}, sent);
  EXPECT_TRUE(UnpackSections(payload));
  EXPECT_FALSE(UnpackSections(""));
  EXPECT_FALSE(UnpackSections("otherwise"));
  std::size_t whole = 0;
  for (std::size_t length = 0; length < payload.size(); ++length)
    whole += UnpackSections(std::string_view(payload).substr(0, length)) ? 1 : 0;
  EXPECT_EQ(whole, kFleetTables);  // no section, one, two and three
  std::string wrong = payload;
  wrong[13] = 4;  // there is no such table
  EXPECT_FALSE(UnpackSections(wrong));
}

TEST(TableEncoderTest, ASpoolOfAnEarlierProfdHasItsColumns) {
  SentStacks sent;
  std::string payload = EncodeTables(Exported(), {}, sent);
  const auto sections = UnpackSections(payload);
  ASSERT_TRUE(sections);
  for (const Section& section : *sections) {
    EXPECT_FALSE(section.is_old);
    EXPECT_EQ(ColumnsOf(section).find("host, time, nanosecond, ") == 0,
              section.table == FleetTable::kHostWindow);
  }
  payload.replace(0, payload.find('\n'), "profd-rows-1");
  const auto old = UnpackSections(payload);
  ASSERT_TRUE(old);
  for (const Section& section : *old) {
    EXPECT_TRUE(section.is_old);
    EXPECT_EQ(ColumnsOf(section).find("host, time, seconds, ") == 0,
              section.table == FleetTable::kHostWindow);
  }
  payload.replace(0, payload.find('\n'), "profd-rows-4");
  EXPECT_FALSE(UnpackSections(payload));
}

// A row with its path spelled out, with the names of this profile.
using Spelled = std::tuple<std::string, std::uint64_t, std::string, std::string, std::string>;

std::string StackText(const ExportProfile& profile, std::uint32_t node) {
  std::string text;
  for (; node != 0; node = profile.nodes[node].parent)
    text += profile.frames[profile.nodes[node].frame].name + ";";
  return text;
}

std::map<Spelled, std::uint64_t> SpelledOf(const ExportProfile& profile) {
  std::map<Spelled, std::uint64_t> sums;
  for (const ExportRow& row : profile.rows) {
    std::string path;
    bool estimated = false;
    if (row.path != 0)
      for (const ExportStep& step : profile.paths[row.path - 1]) {
        const std::string thread =
            step.thread == 0 ? "" : ThreadGroup(profile.threads[step.thread - 1]);
        path += std::to_string(static_cast<int>(step.kind)) + "," +
                std::to_string(static_cast<int>(step.how)) + "," +
                std::string(process::WaitReasonName(step.wait)) + "," + thread + "," +
                step.service + "," + (step.own ? "own" : "") + "," + StackText(profile, step.node) +
                " < ";
        estimated = estimated || step.estimated;
      }
    sums[{profile.label_sets[row.labels].at("service.name"),
          static_cast<std::uint64_t>(row.part) + 1, std::string(process::WaitReasonName(row.wait)),
          StackText(profile, row.node), path + (estimated ? "~" : "")}] += row.ns;
  }
  return sums;
}

std::string StackText(const Stack& stack) {
  std::string text;
  for (std::size_t i = 0; i < stack.functions.size(); ++i)
    if (stack.kinds[i] != 4) text += stack.functions[i] + ";";
  return text;
}

std::map<Spelled, std::uint64_t> SpelledOf(const Decoded& decoded) {
  std::map<Spelled, std::uint64_t> sums;
  for (const Sample& row : decoded.samples) {
    std::string text;
    if (row.path != 0) {
      const Path& path = decoded.paths.at({row.service, row.path});
      for (std::size_t i = 0; i < path.kinds.size(); ++i)
        text +=
            std::to_string(path.kinds[i]) + "," + std::to_string(path.hows[i]) + "," +
            path.waits[i] + "," + path.threads[i] + "," + path.services[i] + "," +
            (path.own[i] != 0 ? "own" : "") + "," +
            (path.stacks[i] == 0 ? ""
                                 : StackText(decoded.stacks.at({row.service, path.stacks[i]}))) +
            " < ";
      if (path.estimated) text += "~";
    }
    sums[{row.service, row.state, row.wait, StackText(decoded.stacks.at({row.service, row.hash})),
          text}] += row.ns;
  }
  return sums;
}

TEST(TableEncoderTest, PathsReadBackWithWhatTheirThreadsDo) {
  const ExportProfile profile = ExportedOnWhom();
  SentStacks sent;
  const std::string payload = EncodeTables(profile, {.rows = 100'000}, sent);
  const Decoded decoded = Decode(payload);
  EXPECT_EQ(decoded.order, (std::vector{FleetTable::kStack, FleetTable::kPath, FleetTable::kSample,
                                        FleetTable::kClock, FleetTable::kHostWindow}));
  EXPECT_GT(decoded.paths.size(), 20u);
  EXPECT_EQ(SpelledOf(decoded), SpelledOf(profile));
  EXPECT_EQ(SumsOf(decoded.samples), SumsOf(profile));
  for (const Sample& row : decoded.samples) EXPECT_TRUE(row.path == 0 || row.state == 4);
}

TEST(TableEncoderTest, PathsGoOutOnceIfTheyAreDelivered) {
  const ExportProfile profile = ExportedOnWhom();
  SentStacks sent;
  const std::string first = EncodeTables(profile, {}, sent);
  EXPECT_EQ(Decode(EncodeTables(profile, {}, sent)).paths.size(), Decode(first).paths.size())
      << "it may be lost";
  sent.Delivered(first);
  const std::string second = EncodeTables(profile, {}, sent);
  EXPECT_TRUE(Decode(second).paths.empty());
  EXPECT_TRUE(Decode(second).stacks.empty());
  const auto known = [](const Sample& row) { return row.path != 0; };
  EXPECT_EQ(std::ranges::count_if(Decode(second).samples, known),
            std::ranges::count_if(Decode(first).samples, known));
}

// What a profd in snapshot mode sends does not know that there are paths.
TEST(TableEncoderTest, WithoutWakersEveryByteIsAsBefore) {
  for (const std::size_t rows : {20u, 100'000u}) {
    SentStacks sent;
    SentStacks again;
    const std::string payload =
        EncodeTables(MakeExportProfile(store::MakeWindow(0), What::kWall, *Relabelling::Make({}),
                                       nullptr, Paths::kKept),
                     {.rows = rows}, sent);
    EXPECT_EQ(payload, EncodeTables(Exported(), {.rows = rows}, again));
    EXPECT_TRUE(payload.starts_with("profd-rows-2\n"));
    const auto sections = UnpackSections(payload);
    ASSERT_TRUE(sections);
    for (const Section& section : *sections) {
      EXPECT_NE(section.table, FleetTable::kPath);
      EXPECT_EQ(ColumnsOf(section).find("path"), std::string_view::npos);
    }
  }
}

// These bytes were written before there were paths.
TEST(TableEncoderTest, RowsWithoutPathsHaveTheBytesOfVersion2) {
  SentStacks sent;
  const std::string payload = EncodeTables(Exported(), {.encoding = ContentEncoding::kNone}, sent);
  EXPECT_EQ(payload.size(), kVersion2Bytes);
  ContentHash content;
  content.Text(payload);
  EXPECT_EQ(content.Hash(), kVersion2Hash);
}

TEST(TableEncoderTest, AProfileWhosePathsAreLeftOutHasTheRowsOfOneWithoutWakers) {
  const ExportProfile without = ExportedOnWhom(Paths::kLeftOut);
  EXPECT_TRUE(without.paths.empty());
  EXPECT_LT(without.rows.size(), ExportedOnWhom().rows.size());
  SentStacks sent;
  EXPECT_TRUE(EncodeTables(without, {}, sent).starts_with("profd-rows-2\n"));
}

TEST(TableEncoderTest, UnderALimitPathsAreGivenUpBeforeStacks) {
  const ExportProfile profile = ExportedOnWhom();
  SentStacks unused;
  const Decoded all = Decode(EncodeTables(profile, {.rows = 100'000}, unused));
  SentStacks plain_sent;
  const std::size_t plain =
      Decode(EncodeTables(ExportedOnWhom(Paths::kLeftOut), {.rows = 100'000}, plain_sent))
          .samples.size();
  ASSERT_GT(all.samples.size(), plain);
  std::size_t cut = 0;
  for (std::size_t most = 1; most <= all.samples.size(); most += 3) {
    SentStacks sent;
    const Decoded some = Decode(EncodeTables(profile, {.rows = most}, sent));
    EXPECT_EQ(SumsOf(some.samples), SumsOf(profile)) << most;
    EXPECT_EQ(some.clocks, SumsOf(profile)) << most;
    for (const Sample& row : some.samples) {
      const bool other =
          some.stacks.at({row.service, row.hash}).functions[0] == std::string(kOtherStack);
      EXPECT_TRUE(!other || row.path == 0);
      cut += other ? 1 : 0;
      EXPECT_TRUE(row.path == 0 || some.paths.contains({row.service, row.path}));
    }
    // All stacks fit, and the lighter half of the rows is what pays for them.
    if (most >= 2 * plain) {
      EXPECT_EQ(some.windows[0].other_ns, 0u) << most;
      EXPECT_LE(some.samples.size(), most);
    }
  }
  EXPECT_GT(cut, 0u);
}

TEST(SectionsTest, OnlyPayloadsWithPathsHaveTheirTable) {
  SentStacks sent;
  std::string payload = EncodeTables(ExportedOnWhom(), {}, sent);
  const auto sections = UnpackSections(payload);
  ASSERT_TRUE(sections);
  for (const Section& section : *sections) {
    EXPECT_TRUE(section.has_paths);
    EXPECT_EQ(ColumnsOf(section).find(" path,") != std::string_view::npos,
              section.table == FleetTable::kSample);
  }
  EXPECT_EQ(NameOf(sections->at(1).table), "path");
  payload.replace(0, payload.find('\n'), "profd-rows-2");
  EXPECT_FALSE(UnpackSections(payload));
}

}  // namespace
}  // namespace profd::fleet
