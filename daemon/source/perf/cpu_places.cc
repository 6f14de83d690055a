#include "daemon/source/perf/cpu_places.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/source/perf/cpu_list.h"

namespace profd::source {
namespace {

constexpr std::size_t kMaxBytes = 65'536;
constexpr std::size_t kMaxCpus = 8'192;  // as Linux for x86-64
constexpr std::uint32_t kMaxNodes = 1'024;
constexpr std::uint32_t kMaxCaches = 16;  // of one CPU

class Reader {
 public:
  explicit Reader(const std::string& sys_root) : sys_(sys_root) {}

  std::vector<CpuPlace> Run() {
    const auto online = ListIn("cpu/online");
    if (online.empty() || online.size() > kMaxCpus) return {};
    const auto nodes = Nodes();
    std::vector<CpuPlace> places;
    for (const std::uint32_t cpu : online) {
      const auto core = Core(cpu);
      if (!core) return {};
      const auto node = nodes.find(cpu);
      places.push_back({cpu, *core, Cache(cpu), node == nodes.end() ? 0 : node->second});
    }
    const bool all =
        std::ranges::all_of(places, [](const CpuPlace& place) { return place.cache.has_value(); });
    if (!all)
      for (CpuPlace& place : places) place.cache.reset();
    return places;
  }

  // Ascending; empty: none, or not understood.
  [[nodiscard]] std::vector<std::uint32_t> ListIn(const std::string& path) const {
    const auto text = sys_.Read("devices/system/" + path, kMaxBytes);
    if (!text) return {};
    auto list = ParseCpuList(*text);
    return list ? *std::move(list) : std::vector<std::uint32_t>();
  }

 private:
  static std::string Folder(std::uint32_t cpu) { return "cpu/cpu" + std::to_string(cpu) + "/"; }

  // The lowest CPU of a list, if `cpu` is in it.
  [[nodiscard]] std::optional<std::uint32_t> LowestWith(std::uint32_t cpu,
                                                        const std::string& path) const {
    const auto list = ListIn(path);
    if (!std::ranges::binary_search(list, cpu)) return std::nullopt;
    return list.front();
  }

  [[nodiscard]] std::optional<std::uint32_t> Core(std::uint32_t cpu) const {
    if (const auto core = LowestWith(cpu, Folder(cpu) + "topology/core_cpus_list")) return core;
    return LowestWith(cpu, Folder(cpu) + "topology/thread_siblings_list");  // its older name
  }

  [[nodiscard]] std::optional<std::uint32_t> Cache(std::uint32_t cpu) const {
    std::optional<std::uint32_t> last;
    std::uint32_t highest = 0;
    for (std::uint32_t index = 0; index < kMaxCaches; ++index) {
      const std::string folder = Folder(cpu) + "cache/index" + std::to_string(index) + "/";
      const auto text = sys_.Read("devices/system/" + folder + "level", kMaxBytes);
      if (!text) break;
      std::uint32_t level = 0;
      std::from_chars(text->data(), text->data() + text->size(), level);
      if (level <= highest) continue;
      const auto lowest = LowestWith(cpu, folder + "shared_cpu_list");
      if (!lowest) return std::nullopt;
      highest = level;
      last = lowest;
    }
    return last;
  }

  [[nodiscard]] std::map<std::uint32_t, std::uint32_t> Nodes() const {
    std::map<std::uint32_t, std::uint32_t> node_of;
    for (const std::uint32_t node : ListIn("node/online")) {
      if (node >= kMaxNodes) break;
      for (const std::uint32_t cpu : ListIn("node/node" + std::to_string(node) + "/cpulist"))
        node_of.emplace(cpu, node);
    }
    return node_of;
  }

  const ProcFs sys_;
};

}  // namespace

std::vector<CpuPlace> ReadCpuPlaces(const std::string& sys_root) { return Reader(sys_root).Run(); }

std::uint32_t CpuNumbers(const std::string& sys_root) {
  const auto possible = Reader(sys_root).ListIn("cpu/possible");
  return possible.empty() ? 0 : possible.back() + 1;
}

}  // namespace profd::source
