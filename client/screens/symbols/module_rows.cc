#include "client/screens/symbols/module_rows.h"

#include <algorithm>
#include <tuple>

namespace profd::client {
namespace {

using Key = std::pair<std::uint32_t, std::string>;  // Frame.module_info, path

struct Address {
  bool named = false;
  bool with_line = false;
  std::string reason;
};

struct Collected {
  ModuleRow row;
  std::map<std::uint64_t, Address> addresses;
};

bool InModule(const v1::Frame& frame) {
  return frame.kind() == v1::FRAME_NATIVE || frame.kind() == v1::FRAME_KERNEL ||
         frame.kind() == v1::FRAME_JIT;
}

class Collector {
 public:
  explicit Collector(const v1::Profile& profile) : profile_(profile) {}

  std::vector<ModuleRow> Run() {
    for (const v1::Frame& frame : profile_.frames())
      if (InModule(frame)) Add(frame);
    AddEnds();
    AddMadeCode();
    std::vector<ModuleRow> rows;
    rows.reserve(modules_.size());
    for (auto& [key, collected] : modules_) rows.push_back(Finish(std::move(collected)));
    const auto order = [](const ModuleRow& row) {
      return std::tuple(-static_cast<std::int64_t>(row.unnamed.size()),
                        -static_cast<std::int64_t>(row.frames), row.path);
    };
    std::ranges::stable_sort(
        rows, [&](const ModuleRow& a, const ModuleRow& b) { return order(a) < order(b); });
    return rows;
  }

 private:
  void Add(const v1::Frame& frame) {
    Collected& module = modules_[KeyOf(frame)];
    ModuleRow& row = module.row;
    row.path = frame.module();
    if (!frame.program().empty()) row.program = frame.program();
    row.kernel = frame.kind() == v1::FRAME_KERNEL;
    if (frame.module_info() != 0)
      row.info = profile_.modules(static_cast<int>(frame.module_info() - 1));
    else if (row.kernel && !frame.name().empty())
      row.info.set_symbols_from("kallsyms");
    else if (frame.kind() == v1::FRAME_JIT && row.info.symbols_from().empty())
      row.info.set_symbols_from("jit map");
    if (frame.inlined()) {
      ++row.inlined;
      return;
    }
    // What became known in the middle of a session counts: the same address has two frames then.
    Address& address = module.addresses[frame.offset()];
    // A name beside a reason is made of the function's place.
    address.named = address.named || (!frame.name().empty() && frame.reason().empty());
    address.with_line = address.with_line || frame.line() != 0;
    address.reason = frame.reason();
  }

  void AddEnds() {
    // Of each node: the outermost one of its stack, and the one below that.
    std::vector<std::pair<int, int>> outer(static_cast<std::size_t>(profile_.nodes_size()) + 1);
    for (int i = 1; i <= profile_.nodes_size(); ++i) {
      const std::uint32_t parent = profile_.nodes(i - 1).parent();
      auto& mine = outer[static_cast<std::size_t>(i)];
      mine = parent == 0 ? std::pair{i, 0} : outer[parent];
      if (parent != 0 && mine.second == 0) mine.second = i;
    }
    const auto frame_at = [&](int node) -> const v1::Frame& {
      return profile_.frames(static_cast<int>(profile_.nodes(node - 1).frame()));
    };
    const v1::Samples& samples = profile_.samples();
    for (int i = 0; i < samples.node_size(); ++i) {
      const auto [end, last] = outer[samples.node(i)];
      if (end == 0 || last == 0 || frame_at(end).kind() != v1::FRAME_PSEUDO) continue;
      const auto module = modules_.find(KeyOf(frame_at(last)));
      if (module != modules_.end())
        module->second.row.ends[frame_at(end).name()] += samples.count(i);
    }
  }

  // What is known of code that programs have made belongs to memory without a file.
  void AddMadeCode() {
    for (const v1::Module& module : profile_.modules()) {
      if (!module.path().empty() || !module.symbols_from().empty()) continue;
      const auto found = std::ranges::find_if(modules_, [](const auto& one) {
        return one.first.second.empty() && !one.second.row.kernel;
      });
      if (found == modules_.end()) return;
      v1::Module& info = found->second.row.info;
      info.set_code_covered_bytes(module.code_covered_bytes());
      info.set_code_bare_bytes(module.code_bare_bytes());
      *info.mutable_code_refused() = module.code_refused();
    }
  }

  static Key KeyOf(const v1::Frame& frame) { return {frame.module_info(), frame.module()}; }

  static ModuleRow Finish(Collected&& module) {
    ModuleRow row = std::move(module.row);
    row.frames = module.addresses.size();
    for (auto& [offset, address] : module.addresses) {
      row.named += address.named ? 1 : 0;
      row.with_line += address.with_line ? 1 : 0;
      if (!address.named) row.unnamed.push_back({offset, std::move(address.reason)});
    }
    return row;
  }

  const v1::Profile& profile_;
  std::map<Key, Collected> modules_;
};

bool IsFile(const ModuleRow& row) { return row.path.starts_with('/') && !row.kernel; }

bool LacksSymbols(const ModuleRow& row) {
  return IsFile(row) && !row.info.symbols_missing().empty();
}
bool LacksLines(const ModuleRow& row) {
  return IsFile(row) && !row.info.path().empty() && row.info.debug_file().empty();
}

// By the daemon's reason: other memory without a file is what a damaged stack points to.
bool LacksMap(const ModuleRow& row) {
  return !IsFile(row) && std::ranges::any_of(row.unnamed, [](const UnnamedFrame& frame) {
    return frame.reason.find("code made at run time") != std::string::npos;
  });
}

// Debug packages of the modules that `lacks` something, those with the most unnamed frames first.
template <typename Lacks>
std::vector<std::string> Packages(const std::vector<ModuleRow>& rows, const DebugPackages& known,
                                  const Lacks& lacks) {
  std::vector<std::string> packages;
  for (const ModuleRow& row : rows) {
    if (!lacks(row)) continue;
    const auto found = known.find(row.path);
    if (found == known.end()) continue;
    if (std::ranges::find(packages, found->second) == packages.end())
      packages.push_back(found->second);
  }
  return packages;
}

}  // namespace

std::vector<ModuleRow> ModuleRows(const v1::Profile& profile) { return Collector(profile).Run(); }

std::vector<std::pair<std::string, std::uint64_t>> ReasonsOf(const ModuleRow& row) {
  std::map<std::string, std::uint64_t> counts;
  for (const UnnamedFrame& frame : row.unnamed) ++counts[frame.reason];
  std::vector<std::pair<std::string, std::uint64_t>> reasons(counts.begin(), counts.end());
  std::ranges::stable_sort(reasons,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  return reasons;
}

ModuleSums SumOf(const std::vector<ModuleRow>& rows) {
  ModuleSums sums;
  for (const ModuleRow& row : rows) {
    sums.frames += row.frames;
    sums.named += row.named;
  }
  return sums;
}

SymbolAdvice AdviceOf(const std::vector<ModuleRow>& rows, const DebugPackages& known) {
  SymbolAdvice advice;
  advice.names = Packages(rows, known, LacksSymbols);
  advice.lines = Packages(rows, known, LacksLines);
  std::erase_if(advice.lines, [&](const std::string& package) {
    return std::ranges::find(advice.names, package) != advice.names.end();
  });
  advice.lacks_names = std::ranges::any_of(rows, LacksSymbols);
  advice.lacks_map = std::ranges::any_of(rows, LacksMap);
  advice.lacks_any = advice.lacks_names || std::ranges::any_of(rows, LacksLines);
  return advice;
}

std::vector<std::string> ModulesToComplete(const v1::Profile& profile) {
  std::vector<std::string> paths;
  for (const ModuleRow& row : ModuleRows(profile))
    if (LacksSymbols(row) || LacksLines(row)) paths.push_back(row.path);
  return paths;
}

}  // namespace profd::client
