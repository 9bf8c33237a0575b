// 2-D heat equation with halo exchange. The plate is cut into rows x columns of blocks, one for each rank. A step
// needs the neighbours' edges: they travel by isend/irecv while the inside is computed. At the end rank 0 does the
// whole plate alone and compares; the exit status says whether they agree.
//
//   mpirun -np 4 build/bin/examples/heat [cells per side] [steps]
#include <godwit/godwit.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

/// Cells [row, row + rows) x [column, column + columns) of the plate, with a border of one cell all round.
struct Block {
  int row, column, rows, columns;
  std::vector<double> now, next;

  Block(int first_row, int first_column, int row_count, int column_count)
      : row(first_row), column(first_column), rows(row_count), columns(column_count) {
    now.resize(at(rows + 1, columns + 1) + 1);
    next = now;
  }
  std::size_t at(int r, int c) const { return static_cast<std::size_t>(r) * width() + static_cast<std::size_t>(c); }
  std::size_t width() const { return static_cast<std::size_t>(columns) + 2; }
};

/// Some warm spots at the beginning; the rim of the plate stays at zero.
void start(Block& block, int side) {
  for (int r = 1; r <= block.rows; ++r)
    for (int c = 1; c <= block.columns; ++c) {
      const double y = double(block.row + r) / (side + 1), x = double(block.column + c) / (side + 1);
      block.now[block.at(r, c)] = std::sin(3 * x) * std::sin(7 * y) * std::exp(-5 * (x - 0.3) * (x - 0.3));
    }
}

/// One step of rows [r0, r1] and columns [c0, c1].
void compute(Block& block, int r0, int r1, int c0, int c1) {
  const std::vector<double>& u = block.now;
  for (int r = r0; r <= r1; ++r)
    for (int c = c0; c <= c1; ++c) {
      const std::size_t i = block.at(r, c), w = block.width();
      block.next[i] = 0.5 * u[i] + 0.125 * ((u[i - 1] + u[i + 1]) + (u[i - w] + u[i + w]));
    }
}

/// The process grid, as near to a square as the number of ranks allows, and this rank's place in it.
struct Grid {
  int rows, columns, row, column;
  explicit Grid(const godwit::Communicator& comm) : rows(static_cast<int>(std::sqrt(comm.size()))) {
    while (comm.size() % rows != 0) --rows;
    columns = comm.size() / rows;
    row = comm.rank() / columns;
    column = comm.rank() % columns;
  }
  bool has(int r, int c) const { return r >= 0 && r < rows && c >= 0 && c < columns; }
  godwit::Rank rank_of(int r, int c) const { return r * columns + c; }
  /// The part of a plate of side x side cells that belongs to (r, c).
  Block block(int side, int r, int c) const {
    const int top = side * r / rows, left = side * c / columns;
    return Block(top, left, side * (r + 1) / rows - top, side * (c + 1) / columns - left);
  }
};

/// One edge: the cells that a neighbour needs, and the border cells that it fills.
struct Edge {
  godwit::Rank neighbour;
  std::size_t inner, outer, stride;  // of the cells in Block::now
  std::vector<double> out, in;
  godwit::Request sending, receiving;

  Edge(godwit::Rank rank, std::size_t first_inner, std::size_t first_outer, std::size_t step, int length)
      : neighbour(rank),
        inner(first_inner),
        outer(first_outer),
        stride(step),
        out(static_cast<std::size_t>(length)),
        in(out.size()) {}
};

std::vector<Edge> edges_of(const Block& b, const Grid& g) {
  std::vector<Edge> edges;
  const auto add = [&](int r, int c, std::size_t inner, std::size_t outer, std::size_t stride, int length) {
    if (g.has(r, c)) edges.emplace_back(g.rank_of(r, c), inner, outer, stride, length);
  };
  add(g.row - 1, g.column, b.at(1, 1), b.at(0, 1), 1, b.columns);
  add(g.row + 1, g.column, b.at(b.rows, 1), b.at(b.rows + 1, 1), 1, b.columns);
  add(g.row, g.column - 1, b.at(1, 1), b.at(1, 0), b.width(), b.rows);
  add(g.row, g.column + 1, b.at(1, b.columns), b.at(1, b.columns + 1), b.width(), b.rows);
  return edges;
}

void run(godwit::Communicator comm, const Grid& grid, Block& block, int steps) {
  std::vector<Edge> edges = edges_of(block, grid);
  for (int step = 0; step < steps; ++step) {
    for (Edge& edge : edges) {
      for (std::size_t i = 0; i < edge.out.size(); ++i) edge.out[i] = block.now[edge.inner + i * edge.stride];
      edge.receiving = comm.irecv(edge.in, edge.neighbour);
      edge.sending = comm.isend(edge.out, edge.neighbour);
    }
    compute(block, 2, block.rows - 1, 2, block.columns - 1);  // needs no neighbour
    for (Edge& edge : edges) {
      godwit::wait_all(edge.receiving, edge.sending);
      for (std::size_t i = 0; i < edge.in.size(); ++i) block.now[edge.outer + i * edge.stride] = edge.in[i];
    }
    compute(block, 1, 1, 1, block.columns);
    compute(block, block.rows, block.rows, 1, block.columns);
    compute(block, 1, block.rows, 1, 1);
    compute(block, 1, block.rows, block.columns, block.columns);
    std::swap(block.now, block.next);
  }
}

/// On rank 0: the largest difference between the blocks of all ranks and a run of the whole plate.
double compare(godwit::Communicator comm, const Grid& grid, const Block& mine, int side, int steps) {
  Block whole(0, 0, side, side);
  start(whole, side);
  for (int step = 0; step < steps; ++step) {
    compute(whole, 1, side, 1, side);
    std::swap(whole.now, whole.next);
  }
  double worst = 0;
  for (godwit::Rank rank = 0; rank < comm.size(); ++rank) {
    Block part = grid.block(side, rank / grid.columns, rank % grid.columns);
    if (rank == 0)
      part = mine;
    else
      comm.recv(part.now, rank);
    for (int r = 1; r <= part.rows; ++r)
      for (int c = 1; c <= part.columns; ++c)
        worst = std::max(worst, std::abs(part.now[part.at(r, c)] - whole.now[whole.at(part.row + r, part.column + c)]));
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) try {
  const int side = argc > 1 ? std::atoi(argv[1]) : 200, steps = argc > 2 ? std::atoi(argv[2]) : 100;
  godwit::Context context;
  godwit::Communicator comm = context.world();
  const Grid grid(comm);
  if (side < grid.columns || side > 20000 || steps < 0) {
    std::fprintf(stderr, "heat: needs between %d and 20000 cells per side, and 0 or more steps\n", grid.columns);
    return 1;
  }
  Block block = grid.block(side, grid.row, grid.column);
  start(block, side);
  run(comm, grid, block, steps);

  int status = 0;
  if (comm.rank() == 0) {
    const double worst = compare(comm, grid, block, side, steps);
    status = worst < 1e-12 ? 0 : 1;
    std::printf("%d x %d cells on %d x %d ranks, %d steps: largest difference %g: %s the serial run\n", side, side,
                grid.rows, grid.columns, steps, worst, status == 0 ? "equals" : "DIFFERS FROM");
  } else {
    comm.send(block.now, 0);
  }
  comm.broadcast(status, 0);
  return status;
} catch (const godwit::Error& error) {
  std::fprintf(stderr, "heat: %s\n", error.what());
  return 1;
}
