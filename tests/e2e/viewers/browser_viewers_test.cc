// The svg, the speedscope file, and files of the Firefox Profiler.
#include "tests/e2e/viewers/in_chromium.h"

namespace profd::testing {
namespace {

TEST_F(InChromium, TheSvgCanBeUsed) { RunChecks("svg.test.mjs"); }

TEST_F(InChromium, TheSvgCanBeRead) { RunChecks("colour.test.mjs"); }

TEST_F(InChromium, SpeedscopeOpensItsFile) { RunChecks("speedscope.test.mjs"); }

TEST_F(InChromium, FirefoxProfilerOpensItsFiles) { RunChecks("firefox.test.mjs"); }

}  // namespace
}  // namespace profd::testing
