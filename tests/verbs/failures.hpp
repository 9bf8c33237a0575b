// Completions that fail: which work request, with what status, and whether the peer had executed it.
#pragma once

#include "stage.hpp"

#include <fmt/format.h>

#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace godwit::verbs {

using fake_verbs::Executed;

struct CompletionFailure {
  ibv_wr_opcode opcode;
  ibv_wc_status status;
  Executed executed;
};

/// Every work request that the transport posts, with each of the statuses.
inline std::vector<CompletionFailure> failures(std::span<const ibv_wc_status> statuses) {
  std::vector<CompletionFailure> all;
  for (const auto opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ})
    for (const ibv_wc_status status : statuses)
      for (const Executed executed : {Executed::no, Executed::yes}) all.push_back({opcode, status, executed});
  return all;
}

/// For names of tests.
inline std::string words(const CompletionFailure& failure) {
  return fmt::format("Opcode{}Status{}{}", static_cast<int>(failure.opcode), static_cast<int>(failure.status),
                     failure.executed == Executed::yes ? "Executed" : "");
}

inline std::ostream& operator<<(std::ostream& out, const CompletionFailure& failure) { return out << words(failure); }

/// A send is the tenth numbered message.
inline WorkRequest request_for(ibv_wr_opcode opcode, const Window& window, std::span<std::byte> local) {
  if (opcode == IBV_WR_SEND) return send_request(local, 10);
  WorkRequest request = window.request(opcode == IBV_WR_RDMA_READ ? Op::get : Op::put, local);
  if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM) request.imm = 5;
  return request;
}

}  // namespace godwit::verbs
