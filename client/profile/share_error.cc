#include "client/profile/share_error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <string_view>

#include "client/profile/fleet_marks.h"

namespace profd::client {
namespace {

constexpr std::size_t kStates = 3;
constexpr std::uint64_t kFewPoints = 8;

// An edge: daemon/aggregate/weights/sampling_error.h.
constexpr std::uint32_t kPartMask = 15;
constexpr std::uint32_t kMinus = 16;
constexpr std::uint32_t kSet = 32;
constexpr std::uint32_t kEdgeBits = 6;

// What is beyond a 95 % interval.
constexpr double kTail = 0.05;

// The probability of |t| beyond this (Abramowitz and Stegun, 26.7.3 and 26.7.4).
double StudentTail(double t, int degrees) {
  const double angle = std::atan(t / std::sqrt(degrees));
  const double cosine2 = std::cos(angle) * std::cos(angle);
  if (degrees % 2 == 1) {
    double term = degrees == 1 ? 0 : std::cos(angle);
    double sum = term;
    for (int k = 3; k < degrees; k += 2) {
      term *= cosine2 * (k - 1) / k;
      sum += term;
    }
    return 1 - 2 / std::numbers::pi * (angle + std::sin(angle) * sum);
  }
  double term = 1;
  double sum = 1;
  for (int k = 2; k < degrees; k += 2) {
    term *= cosine2 * (k - 1) / k;
    sum += term;
  }
  return 1 - std::sin(angle) * sum;
}

}  // namespace

double ErrorSum::variance() const {
  double sum = 0;
  for (const double part : parts) sum += part * part;
  return sum;
}

ErrorSum& ErrorSum::operator+=(const ErrorSum& other) {
  for (std::size_t i = 0; i < kParts; ++i) parts.at(i) += other.parts.at(i);
  weight_ns += other.weight_ns;
  missing_ns += other.missing_ns;
  if (other.known) degrees = known ? std::min(degrees, other.degrees) : other.degrees;
  known = known || other.known;
  return *this;
}

ErrorSum& ErrorSum::operator-=(const ErrorSum& other) {
  for (std::size_t i = 0; i < kParts; ++i) parts.at(i) -= other.parts.at(i);
  weight_ns -= other.weight_ns;
  missing_ns -= other.missing_ns;
  return *this;
}

ShareError::ShareError(const v1::Profile& profile) : profile_(profile) {
  ReadHostGroups();
  if (by_hosts() || !known()) return;
  const v1::Samples& samples = profile.samples();
  const auto threads = static_cast<std::size_t>(profile.threads_size());
  const auto series = [&](int sample) {
    return samples.thread(sample) * kStates + static_cast<std::size_t>(samples.state(sample));
  };
  std::vector<std::uint64_t> points(threads * kStates);
  for (int i = 0; i < samples.edges_size(); ++i)
    if (HasError(i)) points[series(i)] += samples.count(i);
  // The pools of processes stand behind those of threads.
  all_.pool_of.resize(threads * kStates);
  for (std::size_t i = 0; i < all_.pool_of.size(); ++i) {
    const std::size_t process = profile.threads(static_cast<int>(i / kStates)).process();
    all_.pool_of[i] = static_cast<std::uint32_t>(
        points[i] < kFewPoints ? (threads + process) * kStates + i % kStates : i);
  }
  all_.rates.resize((threads + static_cast<std::size_t>(profile.processes_size())) * kStates);
  std::vector<double> weights(all_.rates.size());
  all_.missing.resize(all_.rates.size());
  for (int i = 0; i < samples.edges_size(); ++i) {
    const std::uint32_t pool = all_.pool_of[series(i)];
    if (samples.count(i) == 0 && !samples.exact(i))
      all_.missing[pool] += static_cast<float>(samples.weight_ns(i));
    if (!HasError(i)) continue;
    AddEdges(i, all_.rates[pool]);
    weights[pool] += static_cast<double>(samples.weight_ns(i));
  }
  for (std::size_t pool = 0; pool < all_.rates.size(); ++pool) {
    const auto weight = static_cast<float>(weights[pool] > 0 ? weights[pool] : 1);
    for (float& part : all_.rates[pool]) part /= weight;
    all_.missing[pool] /= weight;
  }
}

void ShareError::ReadHostGroups() {
  std::array<double, ErrorSum::kParts> times{};
  for (const v1::Process& process : profile_.processes()) {
    const auto number = [&](std::string_view label) -> std::optional<std::uint64_t> {
      const auto text = process.labels().find(std::string(label));
      std::uint64_t value = 0;
      if (text == process.labels().end()) return std::nullopt;
      const char* const end = text->second.data() + text->second.size();
      const auto read = std::from_chars(text->second.data(), end, value);
      if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
      return value;
    };
    const auto group = number(kHostGroupLabel);
    const auto time_ns = number(kHostTimeLabel);
    // One process of another kind, and the groups say nothing of the whole.
    if (!group || *group >= ErrorSum::kParts || !time_ns) return;
    all_.group_of.push_back(static_cast<std::uint8_t>(*group));
    // Processes of one group are of the same hosts.
    times.at(*group) = std::max(times.at(*group), static_cast<double>(*time_ns));
  }
  const double all = std::accumulate(times.begin(), times.end(), 0.0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times.at(i) <= 0) continue;
    ++all_.groups;
    all_.time_share.at(i) = static_cast<float>(times.at(i) / all);
  }
}

void ShareError::AddOfHosts(int sample, ErrorSum& sum) const {
  const v1::Samples& samples = profile_.samples();
  const auto groups = static_cast<double>(all_.groups);
  sum.degrees = static_cast<float>(groups - 1);
  const auto weight = static_cast<float>(static_cast<double>(samples.weight_ns(sample)) *
                                         std::sqrt(groups / (groups - 1)));
  const std::uint32_t process =
      profile_.threads(static_cast<int>(samples.thread(sample))).process();
  sum.parts.at(all_.group_of[process]) += weight;
  for (std::size_t i = 0; i < all_.time_share.size(); ++i)
    sum.parts.at(i) -= weight * all_.time_share.at(i);
}

bool ShareError::HasError(int sample) const {
  return !profile_.samples().exact(sample) && profile_.samples().count(sample) != 0;
}

void ShareError::AddEdges(int sample, Parts& parts) const {
  const v1::Samples& samples = profile_.samples();
  const v1::Thread& thread = profile_.threads(static_cast<int>(samples.thread(sample)));
  if (samples.state(sample) >= thread.edge_factors_size()) return;
  const double factor = thread.edge_factors(samples.state(sample));
  // A file may hold anything.
  if (!(factor >= 0 && factor <= 1)) return;
  const auto weight = static_cast<float>(factor * static_cast<double>(samples.weight_ns(sample)) /
                                         static_cast<double>(samples.count(sample)));
  for (std::uint32_t edge = samples.edges(sample); edge != 0; edge >>= kEdgeBits)
    if ((edge & kSet) != 0) parts.at(edge & kPartMask) += (edge & kMinus) != 0 ? -weight : weight;
}

void ShareError::Add(int sample, ErrorSum& sum) const {
  const v1::Samples& samples = profile_.samples();
  sum.weight_ns += samples.weight_ns(sample);
  sum.known = known();
  if (by_hosts()) return AddOfHosts(sample, sum);
  if (!known() || !HasError(sample)) return;
  AddEdges(sample, sum.parts);
  const std::uint32_t pool = all_.pool_of[samples.thread(sample) * kStates +
                                          static_cast<std::size_t>(samples.state(sample))];
  const Parts& rate = all_.rates[pool];
  const auto weight = static_cast<float>(samples.weight_ns(sample));
  for (std::size_t i = 0; i < rate.size(); ++i) sum.parts.at(i) -= weight * rate.at(i);
  sum.missing_ns += weight * all_.missing[pool];
}

std::optional<Interval> ShareInterval(const ErrorSum& sum, std::uint64_t total_ns) {
  if (!sum.known || total_ns == 0) return std::nullopt;
  const auto total = static_cast<double>(total_ns);
  Interval interval = WilsonInterval(static_cast<double>(sum.weight_ns) / total,
                                     sum.variance() / total / total, sum.degrees);
  interval.high = std::min(1.0, interval.high + sum.missing_ns / total);
  return interval;
}

std::optional<double> ShareReach(const ErrorSum& sum, std::uint64_t total_ns) {
  const std::optional<Interval> interval = ShareInterval(sum, total_ns);
  if (!interval) return std::nullopt;
  const double share = static_cast<double>(sum.weight_ns) / static_cast<double>(total_ns);
  return std::max(interval->high - share, share - interval->low);
}

std::optional<double> ShareReach(const ErrorSum& sum, const ErrorSum& all) {
  if (all.weight_ns == 0) return std::nullopt;
  const double share = static_cast<double>(sum.weight_ns) / static_cast<double>(all.weight_ns);
  ErrorSum ratio = sum;
  for (std::size_t i = 0; i < ErrorSum::kParts; ++i)
    ratio.parts.at(i) -= static_cast<float>(share) * all.parts.at(i);
  return ShareReach(ratio, all.weight_ns);
}

Interval WilsonInterval(double share, double variance, double degrees) {
  share = std::clamp(share, 0.0, 1.0);
  const double spread = share * (1 - share);
  // What is left of sums that cancel each other is no error.
  if (spread <= 0 || variance <= std::numeric_limits<double>::epsilon()) return {share, share};
  static const double usual = StudentQuantile(kTail, kErrorDegrees);
  const double quantile = degrees == kErrorDegrees ? usual : StudentQuantile(kTail, degrees);
  const double z2 = quantile * quantile * variance / spread;  // squared quantile by samples
  const double middle = (share + z2 / 2) / (1 + z2);
  const double half = std::sqrt(z2 * spread + z2 * z2 / 4) / (1 + z2);
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

double StudentQuantile(double tail, double degrees) {
  const int whole = std::max(1, static_cast<int>(degrees));
  double low = 0;
  double high = 1;
  while (StudentTail(high, whole) > tail && high < 1e6) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (StudentTail(middle, whole) > tail ? low : high) = middle;
  }
  return high;
}

}  // namespace profd::client
