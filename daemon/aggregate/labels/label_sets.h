// LabelSets: the different labels that the samples of one session have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/base/keys.h"
#include "daemon/process/process_info.h"
#include "daemon/process/sample.h"

namespace profd::aggregate {

// Names and values, ascending by name, each name once.
using Labels = std::vector<std::pair<std::string, std::string>>;

// A record of labels (process/label_record.h) is kept as it is until the end of the session: a
// process may use a name before it is known here. Belongs to a ProfileBuilder and is used by its
// thread. Bounded; samples beyond the bounds have no labels, and are counted.
class LabelSets {
 public:
  static constexpr std::size_t kMaxSets = 262'144;
  static constexpr std::size_t kMaxBytes = 32u << 20;  // of records
  // Of an attribute whose name the process has not published.
  static constexpr const char* kUnknownName = "label ";  // and its number

  // The number of the sample's labels, from 1; 0: it has none, or too many have been seen.
  [[nodiscard]] std::uint32_t Intern(const process::Sample& sample);
  // The process has named more attributes. Null changes nothing.
  void Update(const ProcessKey& process, const process::LabelKeysRef& keys);

  // The labels of a part, by its index; parts must be set in ascending order.
  void SetPart(std::size_t part, std::uint32_t labels);
  [[nodiscard]] std::uint32_t OfPart(std::size_t part) const {
    return part < of_part_.size() ? of_part_[part] : 0;
  }

  // Of a number that is not 0.
  [[nodiscard]] Labels Resolve(std::uint32_t labels) const;
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  // Of the program that has published `keys`, which it has from now on.
  [[nodiscard]] std::uint32_t ProgramOf(const ProcessKey& process,
                                        const process::LabelKeysRef& keys);

  std::vector<process::LabelKeysRef> programs_;  // what each has published; never null
  std::unordered_map<ProcessKey, std::vector<std::uint32_t>> of_process_;  // in programs_
  std::unordered_map<std::string, std::uint32_t> numbers_;  // by number of the program and record
  std::vector<const std::string*> sets_;                    // keys of numbers_
  std::vector<std::uint32_t> of_part_;                      // empty while no part has labels
  std::size_t record_bytes_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace profd::aggregate
