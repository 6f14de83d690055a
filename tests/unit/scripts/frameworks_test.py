"""The pure parts of scripts/bench frameworks: shares of running time, the map of operators, the tables."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["PROFD_SOURCE_DIR"], "tests/bench/frameworks"))

import operators  # noqa: E402
import shares  # noqa: E402
import tables  # noqa: E402


def profile_of(stacks):
    """stacks: (names outermost first, ms, flags, class of its rule, state)."""
    profile = {"frames": [], "nodes": [], "rules": [], "samples": {
        key: [] for key in ("state", "thread", "node", "weight_ns", "count", "stack_flags", "rule")}}
    for names, ms, flags, frame_class, state in stacks:
        node = 0
        for name in names:
            profile["frames"].append({"name": name} if name else {"module": "/lib/libx.so"})
            profile["nodes"].append({"parent": node, "frame": len(profile["frames"]) - 1})
            node = len(profile["nodes"])
        if frame_class:
            profile["rules"].append({"frame_class": frame_class})
        row = {"state": state, "thread": 0, "node": node, "weight_ns": str(ms * 1_000_000), "count": 1, "stack_flags": flags,
               "rule": len(profile["rules"]) if frame_class else 0}
        for key, value in row.items():
            profile["samples"][key].append(value)
    return profile


RUNS, WAITS = "STATE_ON_CPU", "STATE_BLOCKED"


class Shares(unittest.TestCase):
    def test_each_share_is_of_running_time(self):
        found = shares.shares_of(profile_of([
            (["main", "f"], 50, 32, None, RUNS),
            (["main", "wait"], 10, 32, "CLASS_SPIN", RUNS),
            (["main", "wait"], 5, 32, "CLASS_GPU_WAIT", RUNS),
            (["main", "copy"], 5, 32, "CLASS_COPY", RUNS),
            (["f", "libx.so!fn_4a00"], 8, 2048, None, RUNS),
            (["f", "a::B<float>::(virtual 2)"], 2, 32 | 128, None, RUNS),
            ([""], 12, 64, None, RUNS),
            ([], 8, 16, None, RUNS),
            (["main"], 1000, 2048, None, WAITS)]))
        self.assertEqual(found.points, 8)
        self.assertAlmostEqual(found.lost, 0.10)
        self.assertAlmostEqual(found.not_ready, 0.12)
        self.assertAlmostEqual(found.nameless, 0.20)
        self.assertAlmostEqual(found.by_place, 0.10)
        self.assertAlmostEqual(found.spinning, 0.15)
        self.assertEqual(found.reasons, {"no rule, no frame pointer": 0.08, "uncertain: by frame pointer": 0.02})
        self.assertEqual(found.leaves, {"/lib/libx.so": 0.12, "no stack": 0.08})

    def test_without_running_time_there_is_none(self):
        self.assertIsNone(shares.shares_of(profile_of([(["main"], 5, 32, None, WAITS)])))

    def test_only_the_leaf_counts(self):
        found = shares.shares_of(profile_of([(["", "libx.so!fn_1", "f"], 5, 32, None, RUNS)]))
        self.assertEqual((found.nameless, found.by_place), (0, 0))


class Operators(unittest.TestCase):
    def test_the_outermost_operator_decides(self):
        self.assertEqual(operators.operator_of(
            ["main", "at::_ops::linear::call", "at::native::linear", "at::_ops::addmm::call"]), "aten::linear")
        self.assertEqual(operators.operator_of(
            ["torch::autograd::generated::AddmmBackward0::apply", "at::_ops::mm::redispatch", "at::native::x"]), "aten::mm")

    def test_without_a_dispatcher_the_node_or_the_kernel_decides(self):
        self.assertEqual(operators.operator_of(
            ["torch::autograd::generated::AddmmBackward0::apply", "at::native::gelu_out"]), "AddmmBackward0")
        self.assertEqual(operators.operator_of(["at::native::(anonymous namespace)::add_kernel"]), "aten::add_kernel")
        self.assertIsNone(operators.operator_of(["main", "at::Tensor::defined", "my_at::_ops::mm::call"]))

    def test_overloads(self):
        known = {"aten::add", "aten::add_", "aten::gelu", "aten::gelu_backward", "aten::sum"}
        for operator, name in (("add_Tensor", "add"), ("add__Tensor", "add_"), ("gelu_backward", "gelu_backward"),
                               ("sum_dim_IntList", "sum"), ("summary", "summary")):
            self.assertEqual(operators.without_overload("aten::" + operator, known), "aten::" + name)

    def test_of_a_profile(self):
        profile = profile_of([(["at::_ops::mm::call"], 30, 32, None, RUNS),
                              (["at::_ops::add_Tensor::call", "f"], 10, 32, None, RUNS),
                              (["at::_ops::add_Tensor::call", "f"], 40, 32, None, WAITS),
                              (["helper"], 100, 32, None, RUNS)])
        running = operators.in_profile(profile, True, {"aten::add"})
        self.assertEqual(running, ({"aten::mm": 0.75, "aten::add": 0.25}, 2))
        elapsed = operators.in_profile(profile, False, {"aten::add"})
        self.assertEqual(elapsed.shares, {"aten::mm": 30 / 80, "aten::add": 50 / 80})

    def test_of_events(self):
        # Children are not added again; of a node of the backward pass only what no operator has.
        self.assertEqual(operators.in_events([
            ("aten::linear", -1, 50, 10), ("aten::addmm", 0, 40, 40), ("evaluate_function: MmBackward0", -1, 60, 5),
            ("MmBackward0", 2, 50, 10), ("aten::mm", 3, 40, 40)]),
            {"aten::linear": 0.5, "MmBackward0": 0.1, "aten::mm": 0.4})

    def test_agreement_within_points_or_the_interval(self):
        def agrees(share, torch, points):
            one = operators.Shares({"x": share}, points)
            return operators.compare(one, one, {"x": torch})[0].agrees

        self.assertTrue(agrees(0.30, 0.319, 1_000_000))
        self.assertFalse(agrees(0.30, 0.321, 1_000_000))
        self.assertTrue(agrees(0.30, 0.37, 100))
        self.assertFalse(agrees(0.30, 0.45, 100))
        self.assertFalse(agrees(0.0, 0.06, 300))

    def test_small_operators_are_left_out(self):
        one = operators.Shares({"x": 0.019, "y": 0.5}, 100)
        rows = operators.compare(one, one, {"x": 0.02, "z": 0.021})
        self.assertEqual([row.operator for row in rows], ["y", "z"])


class Tables(unittest.TestCase):
    def test_rows(self):
        of_one = shares.Shares(1234, 0.5, 0.25, 0.125, 0.01, 0, {"no rule": 0.5, "rare": 0.0001}, {"/lib/libx.so": 0.125})
        self.assertEqual(tables.program_table("x", {"a": of_one}).splitlines()[-1],
                         "| a | 1,234 | 50.0 % | 25.0 % | 12.5 % | 1.0 % | 0.0 % |")
        self.assertEqual(tables.reason_lines({"a": of_one}), "a: no rule 50.0 %, no name in libx.so 12.5 %")

    def test_operators(self):
        compared = {"a": [operators.Comparison("aten::mm", 0.2, 0.15, 0.25, 0.19, 0.21),
                          operators.Comparison("aten::add", 0.2, 0.15, 0.25, 0.19, 0.5)]}
        self.assertEqual(tables.operator_table(compared).splitlines()[2:],
                         ["| a, aten::mm | 20.0 % | 15.0..25.0 | 19.0 % | 21.0 % | -1.0 | yes |",
                          "| a, aten::add | 20.0 % | 15.0..25.0 | 19.0 % | 50.0 % | -30.0 | **no** |"])
        self.assertTrue(tables.agreement(compared).startswith("1 of 2 operators"))
        self.assertEqual(tables.overhead_table({"a": (10, 9)}).splitlines()[-1], "| a | 10.0 | 9.0 | 0.900 |")


if __name__ == "__main__":
    unittest.main()
