// Reads files of the running system into a Tree. A file that hangs (a lost GPU, a dead network mount) costs
// its time limit and is recorded as missing; the others are still read.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "machine/tree.h"

namespace ridge::doctor {

// `patterns`: paths without leading slash, with * and ? per component: "sys/class/net/*/mtu". `root` is their
// prefix, "" for the running system. Unreadable files are left out, with the reason in `missing` if named without
// wildcards. At most 1 MiB of each file.
void capture(machine::Tree& tree, const std::string& root, const std::vector<std::string>& patterns, Nanoseconds limit);

// Adds what one reading child wrote (each path before it is read, then its text) to `tree`; `done` gets the paths that
// must not be read again. Returns the path that hung: the last one that a killed child requested; empty: none.
std::string take_captured(machine::Tree& tree, std::string output, bool timed_out, std::set<std::string>& done);

}  // namespace ridge::doctor
