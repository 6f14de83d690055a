// bench_symbolize FILE ADDRESSES: names the addresses (hexadecimal, one a line, of the file's own
// address space) as profd does, first cold and then known. Prints "what value" lines.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/elf/sources/object_remote.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/reader/zygote.h"
#include "daemon/symbolize/cache/caching_symbolizer.h"
#include "daemon/symbolize/live/host_symbolizer.h"
#include "daemon/symbolize/sample/sample_symbolizer.h"

namespace profd {
namespace {

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of all threads of this process.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::optional<std::uint64_t> FileOffsetOf(const std::vector<elf::LoadSegment>& segments,
                                          std::uint64_t vaddr) {
  for (const elf::LoadSegment& segment : segments) {
    if (vaddr - segment.vaddr < segment.file_bytes)
      return segment.file_offset + (vaddr - segment.vaddr);
  }
  return std::nullopt;
}

int Run(reader::Zygote& zygote, const std::string& path, const std::string& list) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::perror(path.c_str()), 1;
  auto module = std::make_shared<process::Module>();
  module->path = path;
  module->inode = status.st_ino;
  module->device_major = major(status.st_dev);
  module->device_minor = minor(status.st_dev);
  reader::ReaderPool plain_readers(zygote, 0, {});
  elf::ObjectClient plain(plain_readers, {});
  elf::ObjectId id;
  id.path = path;
  id.inode = module->inode;
  id.device_major = module->device_major;
  id.device_minor = module->device_minor;
  const auto object = plain.Load(id);
  if (!object) return std::fprintf(stderr, "%s\n", object.error().message.c_str()), 1;

  process::Sample sample;
  std::ifstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    const auto offset = FileOffsetOf((*object)->info().segments, std::stoull(line, nullptr, 16));
    if (!offset) continue;
    process::AddressFrame address;
    address.address = *offset;
    address.module = module;
    address.file_offset = *offset;
    sample.frames.push_back(address);
  }

  symbolize::ReplayKernelSymbols kernel;
  const double start = Seconds();
  const double start_cpu = CpuSeconds();
  reader::ReaderPool readers(zygote, 0, {.answer_bytes = 256u << 20});
  elf::ObjectSettings settings;
  settings.debug_files = true;
  settings.inlined = true;
  elf::ObjectClient source(readers, settings);
  symbolize::HostSymbolizer host(kernel, source);
  symbolize::CachingSymbolizer caching(host, 256u << 20);
  std::vector<symbolize::Frame> frames;
  std::size_t named = 0;
  std::size_t inlined = 0;
  double first = 0;
  for (const process::AddressFrame& address : sample.frames) {
    frames.clear();
    caching.Resolve(address, symbolize::Detail::kSource, frames);
    if (first == 0) first = Seconds() - start;
    if (!frames.back().name.empty()) ++named;
    inlined += frames.size() - 1;
  }
  std::printf("first_s %.4f\ncold_s %.4f\ncold_cpu_s %.4f\naddresses %zu\nnamed %zu\ninlined %zu\n",
              first, Seconds() - start, CpuSeconds() - start_cpu, sample.frames.size(), named,
              inlined);
  std::printf("reader_bytes %zu\n", static_cast<std::size_t>(readers.bytes()));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("peak_mb %.1f\n", static_cast<double>(usage.ru_maxrss) / 1024);

  constexpr int kRounds = 100;
  const double cached = Seconds();
  for (int round = 0; round < kRounds; ++round) {
    for (const process::AddressFrame& address : sample.frames) {
      frames.clear();
      caching.Resolve(address, symbolize::Detail::kSource, frames);
    }
  }
  const double lookups = static_cast<double>(sample.frames.size()) * kRounds;
  std::printf("cached_per_s %.0f\n", lookups / (Seconds() - cached));

  symbolize::FrameTable table;
  symbolize::SampleSymbolizer samples(caching, table);
  (void)samples.Symbolize(sample);
  double known = 0;
  for (int round = 0; round < kRounds; ++round) {
    process::Sample copy = sample;
    const double begin = Seconds();
    (void)samples.Symbolize(std::move(copy));
    known += Seconds() - begin;
  }
  std::printf("known_per_s %.0f\n", lookups / known);
  return 0;
}

}  // namespace
}  // namespace profd

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: bench_symbolize FILE ADDRESSES\n"), 2;
  auto zygote = profd::reader::Zygote::Start(
      {{"bench-symbols", {}, [] { return std::make_unique<profd::elf::ObjectParser>(); }}});
  if (!zygote) return std::fprintf(stderr, "%s\n", zygote.error().message.c_str()), 1;
  return profd::Run(**zygote, argv[1], argv[2]);
}
