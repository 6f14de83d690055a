// Any bytes as a file with debug information: all in memory, and paged.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "daemon/base/unique_fd.h"
#include "daemon/elf/debug/dwarf_file.h"
#include "tests/fuzz/require.h"
#include "tests/support/temporary_file.h"

namespace {

void Use(const std::uint8_t* data, std::size_t size, const profd::elf::DebugLimits& limits) {
  using namespace profd;
  UniqueFd fd(::memfd_create("dwarf_fuzz", MFD_CLOEXEC));
  fuzz::Require(fd.valid(), "a memory file");
  fuzz::Require(::write(fd.get(), data, size) == static_cast<ssize_t>(size), "room for it");
  const auto file = elf::DwarfFile::Open(std::move(fd), UniqueFd(), limits);
  if (!file) {
    fuzz::Require(!file.error().message.empty(), "a refusal has a reason");
    return;
  }
  for (std::uint64_t vaddr = 0x1000; vaddr < 0x1100; vaddr += 5) {
    const auto frames = (*file)->Find(vaddr);
    fuzz::Require(frames.size() <= 64, "bound of inlined calls");
  }
  (*file)->Shrink();
  (void)(*file)->Find(0x1000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  profd::elf::DebugLimits limits;
  limits.max_bytes = 4u << 20;
  Use(data, size, limits);
  limits.eager_bytes = 0;
  limits.make_temporary = profd::test::MakeTemporary;
  Use(data, size, limits);
  return 0;
}
