// Fits with Armadillo's gmm_full or gmm_diag, from the given start. It has a variance floor (here 0) but no ridge.

#include <armadillo>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

// The values of an NPY file of version 1: they follow 10 bytes, the last of which give the header length, and the header.
arma::mat read_rows(const std::string& path, arma::uword n_rows, arma::uword n_columns) {
    std::ifstream file(path, std::ios::binary);
    char opening[10];
    file.read(opening, 10);
    const auto header = static_cast<unsigned char>(opening[8]) + 256 * static_cast<unsigned char>(opening[9]);
    file.seekg(10 + header);
    arma::mat columns(n_columns, n_rows);  // Armadillo stores a row of the data as a column
    file.read(reinterpret_cast<char*>(columns.memptr()), sizeof(double) * columns.n_elem);
    if (!file) throw std::runtime_error("cannot read " + path);
    return columns;
}

const arma::cube& covariances_of(const arma::gmm_full& model) { return model.fcovs; }
const arma::mat& covariances_of(const arma::gmm_diag& model) { return model.dcovs; }

// Answers the commands of the harness; `covariances` has the size in which they are read.
template <typename Model, typename Covariances>
int serve(char** arguments, Covariances covariances) {
    const std::string data = arguments[1], start = arguments[5];
    const arma::uword n_rows = std::stoull(arguments[2]), n_columns = std::stoull(arguments[3]);
    const arma::uword n_components = std::stoull(arguments[4]);

    const arma::mat rows = read_rows(data, n_rows, n_columns);
    arma::rowvec weights(n_components);
    arma::mat means(n_columns, n_components);
    std::ifstream file(start, std::ios::binary);
    file.read(reinterpret_cast<char*>(weights.memptr()), sizeof(double) * weights.n_elem);
    file.read(reinterpret_cast<char*>(means.memptr()), sizeof(double) * means.n_elem);
    file.read(reinterpret_cast<char*>(covariances.memptr()), sizeof(double) * covariances.n_elem);
    if (!file) {
        std::cout << "@ error cannot read " << start << std::endl;
        return 1;
    }

    const arma::arma_version version;
    std::cout << "@ ready " << version.major << '.' << version.minor << '.' << version.patch << std::endl;
    std::string word, model_path;
    arma::uword n_rounds;
    while (std::cin >> word >> n_rounds >> model_path) {
        Model model;
        model.set_params(means, covariances, weights);
        // Armadillo stops silently when the likelihood no longer changes, so its output lines are counted.
        std::ostringstream talk;
        arma::set_cout_stream(talk);
        const auto begin = std::chrono::steady_clock::now();
        const bool fitted = model.learn(rows, n_components, arma::maha_dist, arma::keep_existing, 0, n_rounds, 0.0, true);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        if (!fitted) {
            std::cout << "@ error learn() failed" << std::endl;
            continue;
        }
        const std::string said = talk.str();
        arma::uword n_done = 0;
        for (auto at = said.find("iteration:"); at != std::string::npos; at = said.find("iteration:", at + 1)) ++n_done;
        if (n_done != n_rounds) {
            std::cout << "@ error stopped after " << n_done << " of " << n_rounds << " rounds" << std::endl;
            continue;
        }
        std::ofstream out(model_path, std::ios::binary);
        out.write(reinterpret_cast<const char*>(model.hefts.memptr()), sizeof(double) * model.hefts.n_elem);
        out.write(reinterpret_cast<const char*>(model.means.memptr()), sizeof(double) * model.means.n_elem);
        const auto& fitted_covariances = covariances_of(model);
        out.write(reinterpret_cast<const char*>(fitted_covariances.memptr()), sizeof(double) * fitted_covariances.n_elem);
        out.close();
        std::cout << "@ ok " << seconds.count() << std::endl;
    }
    return 0;
}

int main(int, char** arguments) {
    const arma::uword n_columns = std::stoull(arguments[3]), n_components = std::stoull(arguments[4]);
    if (arguments[8] == std::string("diagonal")) {
        return serve<arma::gmm_diag>(arguments, arma::mat(n_columns, n_components));
    }
    // The matrices are symmetric, so row and column order are the same.
    return serve<arma::gmm_full>(arguments, arma::cube(n_columns, n_columns, n_components));
}
