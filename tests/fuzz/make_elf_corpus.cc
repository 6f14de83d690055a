// Writes seeds for elf_file, elf_blob and registered: make_elf_corpus FOLDER (tests/fuzz/corpus).
// Run it by hand when the format of the blobs changes, and commit what it writes.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/elf/sources/object_blob.h"
#include "tests/support/registered/registered_code.h"
#include "tests/unit/elf/elf_builder.h"

namespace profd::elf {
namespace {

void Write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void WriteFiles(const std::filesystem::path& folder) {
  testing::ElfPlan plan = testing::SmallPlan();
  Write(folder / "symtab.bin", BuildElf(plan));
  plan.note_section = true;
  plan.note_segment = false;
  plan.is_64 = false;
  plan.big_endian = true;
  Write(folder / "big_endian_32.bin", BuildElf(plan));
  plan = {};
  plan.dynsym = {{"_ZN3Foo3barEv@@V1", 0x2000, 0x10}, {"foo", 0x2000, 0x20, 2}};
  Write(folder / "dynsym.bin", BuildElf(plan));
  plan.symtab = {{"ifunc", 0x2000, 0x10, 1, 10}, {"_start", 0x2100, 0, 1, 0}};
  Write(folder / "both.bin", BuildElf(plan));
  plan.section_headers = false;
  Write(folder / "no_sections.bin", BuildElf(plan));
}

void WriteBlobs(const std::filesystem::path& folder) {
  ObjectBlob blob;
  blob.info.build_id = "0123";
  blob.info.segments = {{0x1000, 0x2000, 0x3000, true}};
  blob.info.symbols_from = SymbolOrigin::kDynsym;
  blob.info.symbols_missing = "stripped";
  blob.symbols = {{0x2000, 0x2010, "main"}, {0x2010, 0x2020, "other"}};
  Write(folder / "object.bin", EncodeObjectBlob(blob));
  blob.failure = Error{ErrorCode::kNotFound, "file gone", ""};
  Write(folder / "failure.bin", EncodeObjectBlob(blob));
}

void WriteRegistered(const std::filesystem::path& folder) {
  test::RegisteredPlan plan;
  plan.code = 0x7f0000001000;
  plan.code_bytes = 0x40;
  plan.functions = {{"f", 0, 0x20}, {"g", 0x20, 0}};
  plan.frames = test::MakeFrames(plan.code_bytes, "\x41\x0e\x10\x83\x02");
  plan.relocated = {test::kFrameBegin};
  Write(folder / "relocatable.bin", MakeRegistered(plan));
  plan.frames_name = ".debug_frame";
  Write(folder / "debug_frame.bin", MakeRegistered(plan));
  plan.relocatable = false;
  plan.frames_name = ".eh_frame";
  plan.frames_address = plan.code - test::kFrameBegin;  // so that a distance of 0 leads to it
  Write(folder / "linked.bin", MakeRegistered(plan));
}

}  // namespace
}  // namespace profd::elf

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  profd::elf::WriteFiles(folder / "elf_file");
  profd::elf::WriteBlobs(folder / "elf_blob");
  profd::elf::WriteRegistered(folder / "registered");
  return 0;
}
