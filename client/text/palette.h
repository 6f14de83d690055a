// Palette: colour for those who want it. Nothing depends on colour alone.
#pragma once

#include <string>
#include <string_view>

namespace profd::client {

enum class Tone { kPlain, kStrong, kFaint, kRunning, kRunnable, kBlocked, kWarning, kError };

// A value; says which escape sequences stand around a text. Painting changes no width.
class Palette {
 public:
  explicit Palette(bool colored = false) : colored_(colored) {}
  [[nodiscard]] std::string Paint(Tone tone, std::string_view text) const;
  [[nodiscard]] bool colored() const { return colored_; }

 private:
  bool colored_;
};

}  // namespace profd::client
