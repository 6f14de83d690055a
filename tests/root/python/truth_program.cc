#include "tests/root/python/truth_program.h"
#include "tests/support/paths.h"

#include <utility>

#include "daemon/base/proc_fs.h"
#include "daemon/process/maps_parser.h"
#include "daemon/python/find/runtime_finder.h"
#include "daemon/unwind/cfi/mapped_file.h"

namespace profd::test {

Result<TruthProgram> TruthProgram::Start(const std::string& interpreter) {
  testing::SubprocessOptions options;
  options.environment = {{"PYTHONUTF8", "1"}};
  auto process = testing::Subprocess::Start(
      {interpreter, test::SourceDirectory() + "/tests/root/python/truth.py"}, options);
  if (!process) return process.error();
  const auto line = process->ReadLine();
  if (!line) return line.error().Wrap(process->Wait().err);
  auto truth = nlohmann::json::parse(*line, nullptr, false);
  if (truth.is_discarded()) return Error{ErrorCode::kCorrupt, "not JSON: " + *line, ""};
  return TruthProgram(*std::move(process), std::move(truth));
}

Result<python::Attachment> TruthProgram::Attach() const {
  const ProcFs proc;
  const auto maps = proc.Read(std::to_string(pid()) + "/maps");
  if (!maps) return maps.error();
  Result<python::Attachment> attached = Error{ErrorCode::kNotFound, "no interpreter is mapped", ""};
  process::ParseMaps(*maps, [&](process::MapsLine&& line) {
    if (!line.executable || line.inode == 0) return;
    auto mapped = unwind::OpenMappedFile(proc, pid(), line.start, line.end);
    if (!mapped) return;
    const auto file = python::FindRuntime(elf::FileBytes(mapped->fd.get(), mapped->stamp.bytes));
    if (!file) return;
    attached = python::Attach(python::ProcessMemory(pid()), *file,
                              {line.start, line.end, line.file_offset});
  });
  return attached;
}

}  // namespace profd::test
