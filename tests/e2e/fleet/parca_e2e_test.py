"""What profd sends to Parca, decoded by Parca's own messages, has the sums of files."""

import base64
import collections
import gzip
import os
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.path.insert(0, os.path.join(FOLDER, "..", "..", "support", "receivers"))

import parca_messages  # noqa: E402
from exporting_profd import PPROF, STATES, ExportingProfd, PprofSums, Receiver  # noqa: E402
from go_program import Missing  # noqa: E402

SERVICE = "exported-program"
NAME = r"^[a-zA-Z_][a-zA-Z0-9_]*$"


class ParcaReceiver(Receiver):
    SERVICE = "parca.profilestore.v1alpha1.ProfileStoreService"
    METHOD = "WriteRaw"


class Parca(ExportingProfd):
    @classmethod
    def setUpClass(cls):
        try:
            parca_messages.folder()
        except Missing as missing:
            raise unittest.SkipTest(str(missing)) from missing

    def decoded(self, requests):
        paths = []
        for number, request in enumerate(requests):
            paths.append(self.path(f"request{number}"))
            with open(paths[-1], "wb") as file:
                file.write(request)
        return [series for request in parca_messages.decoded(paths) for series in request]

    def read(self, series, sums):
        """Adds a series to sums by begin, service and state, as Parca would refuse it or not."""
        labels = dict(series["labels"])
        self.assertEqual(len(labels), len(series["labels"]))
        for name in labels:
            self.assertRegex(name, NAME)
        self.assertEqual(labels["__name__"], "profd")
        self.assertEqual(labels["host_name"], os.uname().nodename)
        for raw in series["profiles"]:
            profile = PPROF.Profile.FromString(gzip.decompress(base64.b64decode(raw)))
            text = profile.string_table
            types = [text[kind.type] for kind in profile.sample_type]
            self.assertEqual(types, ["samples", "wall", "cpu", "off_cpu"])
            functions = {function.id: text[function.name] for function in profile.function}
            mappings = {mapping.id for mapping in profile.mapping} | {0}
            locations = {location.id for location in profile.location}
            for location in profile.location:
                self.assertIn(location.mapping_id, mappings)
                self.assertTrue(all(line.function_id in functions for line in location.line))
            for sample in profile.sample:
                self.assertTrue(sample.location_id)
                self.assertTrue(locations.issuperset(sample.location_id))
                about = {text[label.key]: text[label.str] for label in sample.label}
                self.assertFalse(about.keys() & labels.keys())
                self.assertIn(about["state"], STATES)
                sums[profile.time_nanos][labels["service_name"], about["state"]] += sample.value[1]

    def test_takes_all_in_requests_of_any_size(self):
        receiver = ParcaReceiver()
        self.addCleanup(receiver.stop)
        self.run_program()
        self.export(f'name = "parca"\nto = "parca+grpc://127.0.0.1:{receiver.port}"\ninterval = "2s"\nrequest = "64KiB"\n',
                    self.files())
        self.assertTrue(receiver.await_requests(6), self.status())
        self.await_true(lambda: len(self.written()) >= 4, "four files")
        sums = collections.defaultdict(collections.Counter)
        for series in self.decoded(receiver.requests):
            self.read(series, sums)
        files = {one.begin: one for one in (PprofSums(self, path) for path in self.written())}
        # The last one may have come in part.
        whole = sorted(files.keys() & sums.keys())[:-1]
        self.assertTrue(whole)
        for begin in whole:
            self.assertEqual(sums[begin], files[begin].by_state)
        self.assertTrue(any(sums[begin][SERVICE, "blocked"] for begin in whole))


if __name__ == "__main__":
    unittest.main()
