// ShareError: how far the shares of a profile can be trusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Fractions from 0 to 1.
struct Interval {
  double low = 0;
  double high = 0;
};

// There are 16 parts, and what edges weigh is an estimate, too: variances are as sure as those of
// this many degrees of freedom. tests/accuracy has how often intervals hold.
inline constexpr double kErrorDegrees = 10;

// A sum of samples, in whatever way they are grouped.
struct ErrorSum {
  static constexpr std::size_t kParts = 16;
  std::array<float, kParts> parts{};
  std::uint64_t weight_ns = 0;
  float missing_ns = 0;           // that may be its own, of time without a sample
  bool known = false;             // the profile says what chance may have done
  float degrees = kErrorDegrees;  // of freedom, of the variance

  [[nodiscard]] double variance() const;  // of weight_ns, in ns squared

  ErrorSum& operator+=(const ErrorSum& other);
  ErrorSum& operator-=(const ErrorSum& other);  // a part of this one
};

// Of all samples of a profile: what is subtracted from a sum of some.
struct ErrorRates {
  using Parts = std::array<float, ErrorSum::kParts>;

  std::vector<std::uint32_t> pool_of;  // by thread and state
  std::vector<Parts> rates;            // by pool: the parts of 1 ns
  std::vector<float> missing;          // by pool: time without a sample, of 1 ns with one
  std::size_t groups = 0;              // of hosts
  std::vector<std::uint8_t> group_of;  // by process
  Parts time_share{};                  // of each group in the time of all
};

// What chance may have done to sums of samples, by the edges of samples (profile.proto). The
// weights of a thread and state add up to an exact clock, so what is too much in one stack is
// missing in others: a sum of all of them has no error. Threads with few samples in a state are
// taken together with those of their process. Time without a sample, of threads that are too short
// for one, is likely to be in the same stacks as that of the others: intervals reach up to that.
// Exact time has no error.
//
// In a profile of host groups hosts are what varies: a sum of samples is compared with what each
// group would have of it if all hosts were alike, by the time for which its hosts were watched.
// That contains what sampling does. Pure; used by one thread.
class ShareError {
 public:
  // The profile has passed CheckProfile and must outlive this.
  explicit ShareError(const v1::Profile& profile);
  // Of some samples of a profile, with all its threads: `whole` are the rates of all samples.
  ShareError(const v1::Profile& part, ErrorRates whole) : profile_(part), all_(std::move(whole)) {}

  // The profile says what chance may have done. One with a filter lacks what it is to be compared
  // with.
  [[nodiscard]] bool known() const {
    return by_hosts() || (profile_.samples().edges_size() != 0 && profile_.filter().empty());
  }
  // Hosts are what varies; there are two groups at least.
  [[nodiscard]] bool by_hosts() const { return all_.groups > 1; }
  [[nodiscard]] const ErrorRates& rates() const { return all_; }
  void Add(int sample, ErrorSum& sum) const;

 private:
  using Parts = ErrorRates::Parts;

  void ReadHostGroups();
  void AddOfHosts(int sample, ErrorSum& sum) const;
  [[nodiscard]] bool HasError(int sample) const;
  void AddEdges(int sample, Parts& parts) const;

  const v1::Profile& profile_;
  ErrorRates all_;
};

// Contains the true share of the sum in `total_ns`, which is exact, in 95 of 100 profiles. Nothing,
// if that is not known.
[[nodiscard]] std::optional<Interval> ShareInterval(const ErrorSum& sum, std::uint64_t total_ns);

// How far that interval reaches from the share, on its longer side.
[[nodiscard]] std::optional<double> ShareReach(const ErrorSum& sum, std::uint64_t total_ns);

// The same of the share of `sum` in `all`, which is a sum of samples, too, and has `sum` in it.
[[nodiscard]] std::optional<double> ShareReach(const ErrorSum& sum, const ErrorSum& all);

// The interval of a share with this variance: that of Wilson, with as many samples as would have
// this variance if they were independent, and the quantile of Student's t.
[[nodiscard]] Interval WilsonInterval(double share, double variance,
                                      double degrees = kErrorDegrees);

// By how much Student's t is exceeded, on either side, with the probability `tail` (0 to 1). The
// degrees of freedom are rounded down to a whole number from 1 on.
[[nodiscard]] double StudentQuantile(double tail, double degrees);

}  // namespace profd::client
