#include "tests/root/python/truth_program.h"

#include <memory>
#include <utility>

#include "daemon/python/feed/python_remote.h"
#include "daemon/reader/opener.h"
#include "tests/support/direct_reader.h"
#include "tests/support/paths.h"

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
  auto memory = reader::Opener().Open({.what = reader::OpenRequest::What::kMemory,
                                       .pid = static_cast<std::uint32_t>(process->pid())});
  if (!memory) return memory.error();
  return TruthProgram(*std::move(process), std::move(memory->fd), std::move(truth));
}

Result<python::Attachment> TruthProgram::Attach() const {
  DirectReaders readers(std::make_unique<python::PythonParser>());
  python::PythonClient client(readers);
  const ProcessKey process{pid(), 0};
  const auto found = client.Find(process, 0, {}, {});
  if (!found) return found.error();
  Result<python::Attachment> attached = Error{ErrorCode::kNotFound, "no interpreter is mapped", ""};
  for (const python::Candidate& candidate : *found)
    attached = client.Attach(process, 0, candidate, {});
  return attached;
}

}  // namespace profd::test
