// Any bytes as an object that a process has registered for debuggers: symbols, and rows of its
// code.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "daemon/base/unique_fd.h"
#include "daemon/elf/registered/registered_object.h"
#include "daemon/unwind/cfi/registered_rows.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profd;
  const UniqueFd memory(::memfd_create("memory", MFD_CLOEXEC));
  if (::write(memory.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const auto object = elf::RegisteredObject::Open(memory.get(), 0, size);
  if (!object) return 0;
  std::uint64_t end = 0;
  for (const auto& code : object->code()) {
    fuzz::Require(end <= code.begin && code.begin < code.end, "code is in order");
    end = code.end;
  }
  const auto symbols = object->ReadSymbols();
  fuzz::Require(symbols.size() <= 2 * elf::RegisteredObject::kMaxSymbols, "bound of symbols");
  elf::RegisteredList list;
  list.objects = {{object->place(), object->code()}};
  end = 0;
  for (const auto& [range, rule] :
       unwind::FindRegistered(list, memory.get(), {0, elf::ProcessBytes::kMaxAddress})) {
    fuzz::Require(end <= range.begin && range.begin < range.end, "rows are in order");
    end = range.end;
  }
  return 0;
}
