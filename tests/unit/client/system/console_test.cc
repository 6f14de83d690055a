#include "client/system/console.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

#include "client/system/pipe.h"
#include "client/system/terminal.h"

namespace profd::client {
namespace {

// What a console with these options says.
std::string Said(Console::Options options, const std::function<void(Console&)>& talk) {
  Pipe pipe = *MakePipe();
  {
    const UniqueFd write = std::move(pipe.write);
    options.fd = write.get();
    Console console(options);
    talk(console);
  }
  std::string text(65536, '\0');
  const ssize_t got = ::read(pipe.read.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

void Everything(Console& console) {
  console.Say("said");
  console.Explain("explained");
  console.Fail(Error{ErrorCode::kIo, "cannot do it: no luck", "try again"});
}

TEST(ConsoleTest, QuietSaysErrorsOnly) {
  EXPECT_EQ(Said({.quiet = true, .palette = Palette()}, Everything),
            "profctl: cannot do it: no luck\n  try again\n");
}

TEST(ConsoleTest, VerboseExplains) {
  EXPECT_EQ(Said({.palette = Palette()}, Everything),
            "profctl: said\nprofctl: cannot do it: no luck\n  try again\n");
  EXPECT_EQ(Said({.verbose = true, .palette = Palette()}, Everything),
            "profctl: said\nprofctl: explained\n"
            "profctl: cannot do it: no luck\n  try again\n");
}

TEST(ConsoleTest, ColorsOnlyOnRequest) {
  EXPECT_NE(Said({.palette = Palette(true)}, Everything).find('\x1b'), std::string::npos);
  EXPECT_EQ(Said({.palette = Palette()}, Everything).find('\x1b'), std::string::npos);
}

TEST(ConsoleTest, WordsOfOthersCannotMoveTheCursor) {
  const std::string said = Said({.palette = Palette()}, [](Console& console) {
    console.Fail(Error{ErrorCode::kIo, "bad \x1b[2J name", "and \r hint"});
  });
  EXPECT_EQ(said, "profctl: bad ?[2J name\n  and ? hint\n");
}

TEST(ConsoleTest, TheProgressLineIsErasedBeforeWordsAndAtTheEnd) {
  const auto line = [](std::size_t) { return std::string("50 %"); };
  const std::string said = Said({.progress = true, .palette = Palette()}, [&](Console& console) {
    console.ShowProgress(line);
    console.ShowProgress(line);
    console.Say("word");
    console.ShowProgress(line);
  });
  EXPECT_EQ(said, "50 %\r\x1b[K50 %\r\x1b[Kprofctl: word\n50 %\r\x1b[K");
  EXPECT_EQ(Said({.palette = Palette()}, [&](Console& console) { console.ShowProgress(line); }),
            "");
}

TEST(TerminalTest, ColorFollowsChoiceAndEnvironment) {
  EXPECT_EQ(*ParseColorChoice("always"), ColorChoice::kAlways);
  EXPECT_FALSE(ParseColorChoice("yes"));
  const Pipe pipe = *MakePipe();
  EXPECT_FALSE(UseColor(ColorChoice::kAuto, pipe.write.get())) << "a pipe is no terminal";
  EXPECT_TRUE(UseColor(ColorChoice::kAlways, pipe.write.get()));
  EXPECT_FALSE(UseColor(ColorChoice::kNever, pipe.write.get()));
}

TEST(TerminalTest, WidthWithoutATerminal) {
  const Pipe pipe = *MakePipe();
  ::unsetenv("COLUMNS");
  EXPECT_EQ(WidthOf(pipe.write.get()), 80u);
  ::setenv("COLUMNS", "132", 1);
  EXPECT_EQ(WidthOf(pipe.write.get()), 132u);
  ::setenv("COLUMNS", "3", 1);
  EXPECT_EQ(WidthOf(pipe.write.get()), 20u);
  ::setenv("COLUMNS", "nonsense", 1);
  EXPECT_EQ(WidthOf(pipe.write.get()), 80u);
  ::unsetenv("COLUMNS");
}

}  // namespace
}  // namespace profd::client
