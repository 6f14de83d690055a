// Packages: which installed packages files belong to. What dpkg knows, without a network.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace profd::client {

// Asks dpkg-query, where it is there, for absolute paths of this host; those that no package has
// installed are left out. Paths may be anything: they are never seen by a shell.
[[nodiscard]] std::map<std::string, std::string> PackagesOf(const std::vector<std::string>& paths);

// What `dpkg-query -S` printed: a package by path.
[[nodiscard]] std::map<std::string, std::string> ParsePackageLines(const std::string& text);

// The package with its symbols, by Debian's and Ubuntu's rule.
[[nodiscard]] std::string DebugPackage(const std::string& package);

}  // namespace profd::client
