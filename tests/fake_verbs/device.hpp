// Queries of devices. Internal to the fake.
#pragma once

#include <string>
#include <vector>

#include "fake_verbs/objects.hpp"

namespace godwit::fake_verbs {

/// As sysfs has it under the device; empty: nothing.
std::string attribute(Device& device, const std::string& path);
void describe(const Device& device, ibv_device_attr& out);
void describe(const Port& port, ibv_port_attr& out);
std::vector<ibv_gid_entry> gid_table(const Device& device);

}  // namespace godwit::fake_verbs
