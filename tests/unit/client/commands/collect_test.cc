#include "client/commands/collect.h"

#include <gtest/gtest.h>

#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

TEST(CollectVerbTest, CollectHasTheDefaultsOfItsHelp) {
  const auto options = OptionsOf<CollectVerb>({"collect", "-p", "1234"});
  ASSERT_EQ(options.target.pids().id_size(), 1);
  EXPECT_EQ(options.target.pids().id(0), 1234u);
  EXPECT_FALSE(options.target.children());
  EXPECT_FALSE(options.duration_ns.has_value());
  EXPECT_EQ(options.sampling.frequency_hz, 99u);
  EXPECT_EQ(options.sampling.mode, v1::MODE_WALL);
  EXPECT_TRUE(options.output.files.empty());
}

TEST(CollectVerbTest, InlinedFunctionsAndLinesCanBeRefused) {
  EXPECT_TRUE(OptionsOf<CollectVerb>({"collect", "-a"}).inlined);
  EXPECT_TRUE(OptionsOf<CollectVerb>({"collect", "-a"}).lines);
  const auto options = OptionsOf<CollectVerb>({"collect", "-a", "--no-inlines", "--no-lines"});
  EXPECT_FALSE(options.inlined);
  EXPECT_FALSE(options.lines);
  EXPECT_NE(Refused({"collect", "-a", "--no-inline"}).hint.find("--no-inlines"), std::string::npos);
}

TEST(CollectVerbTest, ManyHostsTakeATargetThatEachMayHave) {
  const auto options = OptionsOf<CollectVerb>(
      {"collect", "--hosts", "web.txt", "--comm", "nginx", "--host-timeout", "5s"});
  EXPECT_EQ(options.hosts, "web.txt");
  EXPECT_EQ(options.host_timeout_ns, 5'000'000'000u);
  EXPECT_EQ(RequestFor(options, options.target).duration_ns(), 10'000'000'000u);
  for (const char* target : {"-p1", "-t1"})
    EXPECT_EQ(Refused({"collect", "--hosts", "web.txt", target}).message,
              "a process of one host has no meaning on many");
  EXPECT_EQ(Refused({"collect", "-a", "--host-timeout", "5s"}).message,
            "--host-timeout is for --hosts and --fleet");
  (void)Refused({"collect", "-a", "--hosts", "web.txt", "--host-timeout", "0s"});
}

TEST(CollectVerbTest, AFleetSaysFromWhichHosts) {
  const auto options = OptionsOf<CollectVerb>(
      {"collect", "--fleet", "clickhouse://x/y", "--service", "cart", "--version", "1.*", "--pod",
       "cart-1", "--pod", "cart-2", "--zone", "a", "--label", "team=shop", "--host-address",
       "*.example:77", "--host-timeout", "5s"});
  ASSERT_TRUE(options.fleet.has_value());
  EXPECT_EQ(options.fleet->question.service, "cart");
  EXPECT_EQ(options.fleet->question.fits.at(FleetKey::kZone), std::vector<std::string>{"a"});
  EXPECT_EQ(options.fleet->question.labels.at("team"), std::vector<std::string>{"shop"});
  const auto& labels = options.target.labels().label();
  EXPECT_EQ(std::vector<std::string>(labels.begin(), labels.end()),
            (std::vector<std::string>{"service.name=cart", "team=shop", "service.version=1.*",
                                      "k8s.pod.name=cart-1", "k8s.pod.name=cart-2"}))
      << "a zone is no label of a process";
  EXPECT_EQ(options.host_address, "*.example:77");
  EXPECT_EQ(options.host_timeout_ns, 5'000'000'000u);
  const std::vector<std::string> fleet{"collect", "--fleet", "clickhouse://x/y"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), fleet.begin(), fleet.end());
    return Refused(std::move(more)).message;
  };
  EXPECT_EQ(with({"-a"}), "no service is named");
  EXPECT_EQ(with({"--service", "cart", "--hosts", "x"}),
            "both --hosts and --fleet say from which hosts");
  EXPECT_EQ(with({"--service", "cart", "--host-address", "web1"}),
            "'web1' does not say where a host is");
  EXPECT_EQ(Refused({"collect", "-a", "--host-address", "*"}).message,
            "--host-address is for --fleet");
  EXPECT_EQ(Refused({"collect", "--service", "cart", "--zone", "a"}).message,
            "--zone is for fleets");
}

TEST(CollectVerbTest, OnWhomMayHaveAValue) {
  const auto detail = [](const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"collect", "-a"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto parsed = ParseOnWhom(OptionsOf<CollectVerb>(arguments).output.on_whom);
    EXPECT_TRUE(parsed);
    return parsed ? *parsed : PathDetail::kNone;
  };
  EXPECT_EQ(detail({}), PathDetail::kNone);
  EXPECT_EQ(detail({"--on-whom"}), PathDetail::kSteps);
  EXPECT_EQ(detail({"--on-whom", "-o", "x.svg"}), PathDetail::kSteps);
  EXPECT_EQ(detail({"--on-whom=stacks"}), PathDetail::kStacks);
  const auto wrong = ParseOnWhom("everything");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "--on-whom=everything: there is no such detail");
}

TEST(CollectVerbTest, EveryOptionOfCollect) {
  const ParsedLine parsed =
      Parsed({"collect", "-p",      "12,13",     "--pid=14",     "-d500ms", "-F", "200",
              "-m",      "off",     "-s",        "-o",           "a.svg",   "-o", "-",
              "-f",      "folded",  "--threads", "--signatures", "-q",      "-v", "--color=never",
              "--host",  "unix:/x", "--native",  "--no-progress"});
  const auto* verb = dynamic_cast<const CollectVerb*>(parsed.line.verb);
  ASSERT_NE(verb, nullptr);
  const CollectOptions& options = verb->options();
  EXPECT_EQ(options.target.pids().id_size(), 3);
  EXPECT_TRUE(options.target.children());
  EXPECT_EQ(options.duration_ns, 500'000'000u);
  EXPECT_EQ(options.sampling.frequency_hz, 200u);
  EXPECT_EQ(options.sampling.mode, v1::MODE_OFF_CPU);
  EXPECT_EQ(options.output.files, (std::vector<std::string>{"a.svg", "-"}));
  EXPECT_EQ(options.output.format, "folded");
  EXPECT_TRUE(options.output.threads);
  EXPECT_TRUE(options.output.names.signatures);
  EXPECT_TRUE(options.no_progress);
  EXPECT_FALSE(verb->ShowsProgress());
  EXPECT_TRUE(parsed.line.global.quiet);
  EXPECT_TRUE(parsed.line.global.verbose);
  EXPECT_EQ(parsed.line.global.color, ColorChoice::kNever);
  EXPECT_EQ(parsed.line.global.host.address, "unix:/x");
}

TEST(CollectVerbTest, Targets) {
  EXPECT_EQ(OptionsOf<CollectVerb>({"collect", "-t", "5"}).target.tids().id(0), 5u);
  EXPECT_EQ(OptionsOf<CollectVerb>({"collect", "--comm", "redis-server"}).target.comm(),
            "redis-server");
  EXPECT_EQ(OptionsOf<CollectVerb>({"collect", "--comm", "a-name-of-more-than-15"}).target.comm(),
            "a-name-of-more-");
  EXPECT_EQ(OptionsOf<CollectVerb>({"collect", "--cgroup", "/x"}).target.cgroup(), "/x");
  EXPECT_TRUE(
      OptionsOf<CollectVerb>({"collect", "-a", "--kernel-threads"}).target.kernel_threads());
  EXPECT_TRUE(OptionsOf<CollectVerb>({"collect", "-p", "1", "--cycles"}).hardware_cycles);
  EXPECT_TRUE(OptionsOf<CollectVerb>({"collect", "-p", "1", "--switches"}).switches);
  const auto counted = OptionsOf<CollectVerb>({"collect", "-p", "1", "--counters"});
  EXPECT_TRUE(RequestFor(counted, counted.target).counters());
  const auto plain = OptionsOf<CollectVerb>({"collect", "-p", "1"});
  EXPECT_FALSE(RequestFor(plain, plain.target).counters());
}

TEST(CollectVerbTest, AServiceAndLabelsAreOneTarget) {
  const auto labels_of = [](const v1::Target& target) {
    return std::vector<std::string>(target.labels().label().begin(), target.labels().label().end());
  };
  const auto options = OptionsOf<CollectVerb>(
      {"collect", "--label", "service.version=1.*", "--service", "cart", "--label", "a=b=c", "-s"});
  EXPECT_EQ(labels_of(options.target),
            (std::vector<std::string>{"service.name=cart", "service.version=1.*", "a=b=c"}));
  EXPECT_TRUE(options.target.children());
  EXPECT_TRUE(OptionsOf<CollectVerb>({"collect", "--hosts", "web.txt", "--service", "x"})
                  .target.has_labels());
  EXPECT_EQ(Refused({"collect", "--label", "cart"}).message, "--label cart: it is no NAME=VALUE");
  EXPECT_NE(Refused({"collect", "--service", "cart", "-a"}).message.find("more than one"),
            std::string::npos);
}

TEST(CollectVerbTest, EverythingBehindTheDashesIsTheCommands) {
  const auto options = OptionsOf<CollectVerb>(
      {"collect", "-o", "x.svg", "--", "ls", "-l", "--", "-p", "--help", "--no-such"});
  EXPECT_EQ(options.command,
            (std::vector<std::string>{"ls", "-l", "--", "-p", "--help", "--no-such"}));
  EXPECT_TRUE(options.target.children()) << "children of a command are followed by default";
  EXPECT_FALSE(OptionsOf<CollectVerb>({"collect", "--no-children", "--", "ls"}).target.children());
}

TEST(CollectVerbTest, TargetsMustBeOneKind) {
  EXPECT_NE(Refused({"collect"}).hint.find("-p PID"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "1", "-a"}).message.find("more than one"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "1", "--", "ls"}).message.find("more than one"),
            std::string::npos);
  (void)Refused({"collect", "-p", "1", "--kernel-threads"});
  (void)Refused({"collect", "-p", "1", "-s", "--no-children"});
  (void)Refused({"collect", "-p", "1", "--cycles", "-m", "off"});
  (void)Refused({"collect", "-p", "1", "--switches", "-m", "on"});
  (void)Refused({"collect", "-p", "1", "--switches", "--no-hooks"});
  (void)Refused({"collect", "-p", "1", "--counters", "--no-hooks"});
}

TEST(CollectVerbTest, RecordIsCollect) {
  EXPECT_TRUE(OptionsOf<CollectVerb>({"record", "-a"}).target.all());
}

}  // namespace
}  // namespace profd::client
