#include "tests/root/unwind/unwinder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "bpf/shared/control.h"
#include "bpf/shared/unwind_table.h"
#include "daemon/unwind/cfi/cfi_reader.h"
#include "daemon/unwind/service/cfi_remote.h"
#include "daemon/unwind/tables/chunk_builder.h"
#include "daemon/wire/decoder.h"
#include "profd_bpf.skel.h"
#include "tests/support/direct_reader.h"
#include "tests/support/eventually.h"

namespace profd::unwind {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{PROFD_SLAB_PAGES} * PROFD_POOL_PAGE_BYTES;
constexpr std::size_t kSlabs = 32;
constexpr std::uint64_t kSession = 1;

std::string KeyOf(const profd_file_key& key) {
  return {reinterpret_cast<const char*>(&key), sizeof(key)};
}

}  // namespace

struct Unwinder::Maps {
  profd_bpf* skeleton = nullptr;
  bpf_link* assign = nullptr;
  bpf_link* snapshot = nullptr;
  ring_buffer* wanted_ring = nullptr;
  ring_buffer* sample_ring = nullptr;
  std::vector<profd_wanted> wanted;
  std::vector<wire::StackEvent> samples;
  std::byte* pool = nullptr;
  std::uint64_t next_byte = PROFD_PLACE_UNIT;
  profd_unwind_file* files = nullptr;
  std::uint32_t file_count = 0;
  std::set<std::string> published;

  // `whole` first bytes lie in one page.
  std::uint32_t Allocate(std::uint64_t bytes, std::uint64_t align, std::uint64_t whole) {
    next_byte = (next_byte + align - 1) / align * align;
    if (next_byte % PROFD_POOL_PAGE_BYTES + whole > PROFD_POOL_PAGE_BYTES)
      next_byte = (next_byte / PROFD_POOL_PAGE_BYTES + 1) * PROFD_POOL_PAGE_BYTES;
    const std::uint64_t at = next_byte;
    next_byte += (bytes + 7) / 8 * 8;
    if (next_byte > kSlabs * kSlabBytes) std::abort();
    return static_cast<std::uint32_t>(at / PROFD_PLACE_UNIT);
  }
  template <typename T>
  T* At(std::uint32_t place) {
    return reinterpret_cast<T*>(pool + std::uint64_t{place} * PROFD_PLACE_UNIT);
  }

  ~Maps() {
    ::ring_buffer__free(wanted_ring);
    ::ring_buffer__free(sample_ring);
    ::bpf_link__destroy(assign);
    ::bpf_link__destroy(snapshot);
    profd_bpf__destroy(skeleton);
  }
};

Unwinder::Unwinder() : maps_(std::make_unique<Maps>()) {}
Unwinder::~Unwinder() = default;

Result<std::unique_ptr<Unwinder>> Unwinder::Load() {
  std::unique_ptr<Unwinder> unwinder(new Unwinder);
  PROFD_TRY(unwinder->Open());
  return unwinder;
}

Result<void> Unwinder::Open() {
  Maps& maps = *maps_;
  maps.skeleton = profd_bpf__open();
  if (maps.skeleton == nullptr) return ErrorFromErrno(errno, "cannot open the skeleton");
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, maps.skeleton->obj)::bpf_program__set_autoload(program,
                                                                                       false);
  const auto& programs = maps.skeleton->progs;
  for (bpf_program* used :
       {programs.assign_threads, programs.snapshot_stacks, programs.on_cpu_sample})
    ::bpf_program__set_autoload(used, true);
  maps.skeleton->rodata->constants.split = PROFD_SPLIT_RUN_DELAY;
  if (const int error = profd_bpf__load(maps.skeleton); error != 0)
    return ErrorFromErrno(-error, "cannot load");
  maps.assign = ::bpf_program__attach(programs.assign_threads);
  maps.snapshot = ::bpf_program__attach(programs.snapshot_stacks);
  if (maps.assign == nullptr || maps.snapshot == nullptr)
    return ErrorFromErrno(errno, "cannot attach");

  maps.pool = static_cast<std::byte*>(
      ::mmap(nullptr, kSlabs * kSlabBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (__u32 slab = 0; slab < kSlabs; ++slab) {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    const UniqueFd fd(::bpf_map_create(BPF_MAP_TYPE_ARRAY, "profd_slab", sizeof(__u32),
                                       PROFD_POOL_PAGE_BYTES, PROFD_SLAB_PAGES, &options));
    const int value = fd.get();
    void* at = ::mmap(maps.pool + slab * kSlabBytes, kSlabBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED, fd.get(), 0);
    if (at == MAP_FAILED) return ErrorFromErrno(errno, "cannot map a slab");
    if (::bpf_map_update_elem(::bpf_map__fd(maps.skeleton->maps.unwind_pool), &slab, &value, 0) !=
        0)
      return ErrorFromErrno(errno, "cannot add a slab");
  }
  void* files =
      ::mmap(nullptr, PROFD_MAX_UNWIND_FILES * sizeof(profd_unwind_file), PROT_READ | PROT_WRITE,
             MAP_SHARED, ::bpf_map__fd(maps.skeleton->maps.unwind_files), 0);
  if (files == MAP_FAILED) return ErrorFromErrno(errno, "cannot map the files");
  maps.files = static_cast<profd_unwind_file*>(files);
  maps.wanted_ring = ::ring_buffer__new(
      ::bpf_map__fd(maps.skeleton->maps.ring_wanted),
      [](void* to, void* data, std::size_t) {
        profd_wanted wanted;
        std::memcpy(&wanted, data, sizeof(wanted));
        static_cast<Maps*>(to)->wanted.push_back(wanted);
        return 0;
      },
      maps_.get(), nullptr);
  maps.sample_ring = ::ring_buffer__new(
      ::bpf_map__fd(maps.skeleton->maps.ring_on_cpu),
      [](void* to, void* data, std::size_t bytes) {
        auto event = wire::DecodeEvent({{static_cast<std::byte*>(data), bytes}});
        EXPECT_TRUE(event) << event.error().message;
        if (event) static_cast<Maps*>(to)->samples.push_back(std::get<wire::StackEvent>(*event));
        return 0;
      },
      maps_.get(), nullptr);
  maps.skeleton->data->control.tick = 1;
  return {};
}

void Unwinder::Watch(std::uint32_t pid) {
  Maps& maps = *maps_;
  pid_ = pid;
  profd_control& control = maps.skeleton->data->control;
  const __u32 session = 0;
  profd_filter filter{};
  filter.kind = PROFD_TARGET_PID;
  ::bpf_map_update_elem(::bpf_map__fd(maps.skeleton->maps.filters), &session, &filter, 0);
  const int ids = ::bpf_map__fd(maps.skeleton->maps.filter_ids);
  profd_filter_id id{};
  while (::bpf_map_get_next_key(ids, nullptr, &id) == 0) ::bpf_map_delete_elem(ids, &id);
  id = {.session = 0, .id = pid};
  const __u8 one = 1;
  ::bpf_map_update_elem(ids, &id, &one, 0);
  control.sessions = control.starting_sessions = control.snapshot_sessions = kSession;
  control.on_cpu_sessions = kSession;
  control.snapshot_before_ns = ~0ull;
  (void)ReadIterator(maps.assign);
  control.starting_sessions = 0;
}

std::string Unwinder::ReadIterator(bpf_link* link) const {
  const UniqueFd fd(::bpf_iter_create(::bpf_link__fd(link)));
  std::string all;
  std::vector<char> some(1u << 16);
  for (ssize_t got = 0; (got = ::read(fd.get(), some.data(), some.size())) > 0;)
    all.append(some.data(), static_cast<std::size_t>(got));
  return all;
}

std::vector<wire::StackEvent> Unwinder::ReadSnapshot() const {
  const std::string bytes = ReadIterator(maps_->snapshot);
  std::vector<wire::StackEvent> stacks;
  for (std::size_t at = 0; at + sizeof(profd_event) <= bytes.size();) {
    const std::span rest(reinterpret_cast<const std::byte*>(bytes.data()) + at, bytes.size() - at);
    profd_event header;
    std::memcpy(&header, rest.data(), sizeof(header));
    auto event = wire::DecodeEvent({rest.first(header.size)});
    EXPECT_TRUE(event) << event.error().message;
    if (event) stacks.push_back(std::get<wire::StackEvent>(*event));
    at += header.size;
  }
  return stacks;
}

std::vector<wire::StackEvent> Unwinder::Snapshot() {
  std::vector<wire::StackEvent> stacks;
  do {
    stacks = ReadSnapshot();
  } while (PublishWanted());
  return stacks;
}

UniqueFd Unwinder::OpenPerfEvent(std::uint64_t period_ns) const {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = period_ns;
  UniqueFd fd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid_, -1, -1, 0)));
  EXPECT_GE(fd.get(), 0);
  EXPECT_EQ(::ioctl(fd.get(), PERF_EVENT_IOC_SET_BPF,
                    ::bpf_program__fd(maps_->skeleton->progs.on_cpu_sample)),
            0);
  return fd;
}

std::vector<wire::StackEvent> Unwinder::SampleOnCpu() {
  const UniqueFd event = OpenPerfEvent(1'000'000);
  do {
    maps_->samples.clear();
    // They request the tables that they miss.
    const bool enough = test::Eventually([this] {
      ::ring_buffer__consume(maps_->sample_ring);
      return maps_->samples.size() >= 30;
    });
    if (!enough) return {};
  } while (PublishWanted());
  maps_->samples.clear();
  const bool sampled = test::Eventually([&] {
    ::ring_buffer__consume(maps_->sample_ring);
    std::erase_if(maps_->samples,
                  [](const auto& sample) { return (sample.flags & PROFD_SAMPLE_USER_MODE) == 0; });
    return !maps_->samples.empty();
  });
  if (!sampled) return {};
  return {maps_->samples.front()};
}

double Unwinder::OnCpuCostNs() {
  const UniqueFd stats(::bpf_enable_stats(BPF_STATS_RUN_TIME));
  const auto read = [this] {
    bpf_prog_info info{};
    __u32 bytes = sizeof(info);
    ::bpf_obj_get_info_by_fd(::bpf_program__fd(maps_->skeleton->progs.on_cpu_sample), &info,
                             &bytes);
    return std::pair(static_cast<double>(info.run_time_ns), static_cast<double>(info.run_cnt));
  };
  const UniqueFd event = OpenPerfEvent(100'000);
  const auto before = read();
  for (int i = 0; i < 20; ++i) {
    ::usleep(50'000);  // some 500 samples
    ::ring_buffer__consume(maps_->sample_ring);
    maps_->samples.clear();
  }
  const auto after = read();
  return (after.first - before.first) / (after.second - before.second);
}

bool Unwinder::PublishWanted() {
  ::ring_buffer__consume(maps_->wanted_ring);
  const std::vector<profd_wanted> wanted = std::exchange(maps_->wanted, {});
  for (const profd_wanted& one : wanted)
    if (maps_->published.insert(KeyOf(one.key)).second) Publish(one);
  ::usleep(12'000);  // the programs ask again after 10 ms
  return !wanted.empty();
}

void Unwinder::Publish(const profd_wanted& wanted) {
  Maps& maps = *maps_;
  std::ostringstream path;
  path << "/proc/" << wanted.pid;
  const bool vdso = wanted.key.inode == PROFD_VDSO_INODE && wanted.key.size == 0;
  if (vdso) {
    path << "/mem";
  } else {
    path << "/map_files/" << std::hex << wanted.mapping_begin << '-' << wanted.mapping_end;
  }
  UniqueFd fd(::open(path.str().c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::byte> bytes(vdso ? wanted.mapping_end - wanted.mapping_begin : 0);
  if (vdso) {
    ASSERT_EQ(
        ::pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(wanted.mapping_begin)),
        static_cast<ssize_t>(bytes.size()));
  }
  const bool memory = IsMemory(wanted.key);
  auto reader = vdso     ? CfiReader::FromMemory(bytes)
                : memory ? Result<CfiReader>(Error{})
                         : CfiReader::Open(std::move(fd), wanted.key.size);
  test::DirectReaders readers(std::make_unique<CfiParser>());
  const FileMapping mapping{wanted.pid, wanted.mapping_begin, wanted.mapping_end};
  const auto rows_of = [&](std::uint64_t begin) {
    if (reader) return reader->ReadRows(begin, begin + kChunkBytes).rows;
    auto chunk = CfiClient(readers).ReadMemory(mapping, begin, {});
    return chunk ? chunk->part.rows : std::vector<Row>();
  };
  profd_unwind_file file{};
  file.flags = PROFD_FILE_PRESENT | (reader || memory ? 0 : PROFD_FILE_NO_TABLES);
  if (reader || memory) {
    RuleTable rules({});
    const std::uint64_t end = memory ? wanted.key.size : reader->text().back().end;
    file.chunks = static_cast<__u32>((end + kChunkBytes - 1) / kChunkBytes);
    file.index = maps.Allocate(file.chunks * sizeof(profd_chunk_ref), 8, 0);
    for (std::uint32_t i = 0; i < file.chunks; ++i) {
      const std::uint64_t begin = i * kChunkBytes;
      const PackedChunk packed = PackChunk(rows_of(begin), begin, rules);
      __u32 place = PROFD_CHUNK_EMPTY;
      if (!packed.bytes.empty()) {
        place = maps.Allocate(packed.bytes.size(), 8, sizeof(profd_chunk));
        std::memcpy(maps.At<std::byte>(place), packed.bytes.data(), packed.bytes.size());
      }
      maps.At<profd_chunk_ref>(file.index)[i].place = place;
    }
    file.rule_count = static_cast<__u32>(rules.rules().size());
    file.rules = maps.Allocate(file.rule_count * sizeof(profd_unwind_rule), 32, 0);
    std::memcpy(maps.At<std::byte>(file.rules), rules.rules().data(),
                file.rule_count * sizeof(profd_unwind_rule));
  }
  const __u32 index = maps.file_count++;
  maps.files[index] = file;
  ASSERT_EQ(::bpf_map_update_elem(::bpf_map__fd(maps.skeleton->maps.unwind_file_ids), &wanted.key,
                                  &index, 0),
            0);
}

}  // namespace profd::unwind
