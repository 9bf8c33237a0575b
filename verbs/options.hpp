// Options of the verbs transport.
#pragma once

#include "core/options.hpp"

namespace godwit::verbs {

struct VerbsOptions : core::OptionGroup {
  VerbsOptions();

  core::Option<bool> disable;
  core::Option<std::string> hca;
  core::Option<std::int64_t> gid_index;
  core::Option<std::int64_t> traffic_class;
  core::Option<std::int64_t> service_level;
  core::Option<std::int64_t> pkey;
  core::Option<std::int64_t> timeout;
  core::Option<std::int64_t> retry_count;
  core::Option<std::int64_t> connect_time;
  core::Option<std::int64_t> recovery_time;
  core::Option<std::int64_t> mtu;
  core::Option<std::int64_t> queue_pairs;
  core::Option<std::int64_t> rails;
  core::Option<std::int64_t> inline_bytes;
  core::Option<core::Choice> connect;
  core::Option<core::Bytes> message;
  core::Option<std::int64_t> credits;
  core::Option<std::int64_t> receives;
  core::Option<std::int64_t> send_queue;
  core::Option<core::Choice> reg_cache;
  core::Option<std::int64_t> reg_cache_entries;
  core::Option<core::Bytes> reg_cache_bytes;
};

}  // namespace godwit::verbs
