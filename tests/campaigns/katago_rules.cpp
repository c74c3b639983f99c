// Plays the moves it reads and prints what KataGo's rules and input features say after each: our own program, to be
// linked against KataGo's sources. tests/campaigns/rules_against_katago.py compiles it, writes its input and reads its
// output, one line for each line of input:
//
//     game WIDTH HEIGHT KO SCORING TAX SUICIDE BUTTON BONUS FRIENDLY CLEANUP KOMI SUICIDE_FOR_LIFE
//     handicap X Y ...             black stones, before the first move; white is then to move
//     play COLOUR X Y              X = -1 is a pass; (0, 0) is the top left; colours are 1 and 2
//
// A line of output: over, no result, phase, side to move, legal points, blocked stones, bonus, handicap bonus, score,
// and the features' planes and numbers seen in the tree, at the root and bare.
#include "game/boardhistory.h"
#include "neuralnet/nninputs.h"

#include <iostream>
#include <sstream>

static void printFeatures(const Board& board, const BoardHistory& hist, bool isRoot, bool hacks) {
  MiscNNInputParams params;
  params.conservativePassAndIsRoot = isRoot;
  params.enablePassingHacks = hacks;
  int area = board.x_size * board.y_size;
  std::vector<float> planes(NNInputs::NUM_FEATURES_SPATIAL_V7 * area);
  std::vector<float> numbers(NNInputs::NUM_FEATURES_GLOBAL_V7);
  NNInputs::fillRowV7(
    board, hist, hist.presumedNextMovePla, params, board.x_size, board.y_size, false, planes.data(), numbers.data());
  std::cout << ' ';
  for(float value : planes)
    std::cout << (value == 0.0f ? '0' : value == 1.0f ? '1' : '?');
  for(float value : numbers)
    std::cout << ' ' << value;
}

static void print(const Board& board, const BoardHistory& hist) {
  BoardHistory ended(hist);
  ended.endAndScoreGameNow(board);
  std::cout << (hist.isGameFinished || hist.isPastNormalPhaseEnd) << ' ' << hist.isNoResult << ' ' << hist.encorePhase
            << ' ' << (int)hist.presumedNextMovePla << ' ';
  for(int what = 0; what < 2; what++) {
    for(int y = 0; y < board.y_size; y++)
      for(int x = 0; x < board.x_size; x++) {
        Loc loc = Location::getLoc(x, y, board.x_size);
        std::cout << (what == 0 ? hist.isLegal(board, loc, hist.presumedNextMovePla) : hist.koRecapBlocked[loc]);
      }
    std::cout << ' ';
  }
  std::cout << hist.whiteBonusScore << ' ' << hist.whiteHandicapBonusScore << ' ' << ended.finalWhiteMinusBlackScore;
  printFeatures(board, hist, false, true);
  printFeatures(board, hist, true, true);
  printFeatures(board, hist, false, false);
  std::cout << '\n';
}

int main() {
  Board::initHash();
  ScoreValue::initTables();
  Board board;
  BoardHistory hist;
  bool cleanup = true;
  std::string line;
  while(std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if(word == "game") {
      int width, height, ko, scoring, tax, suicide, button, bonus, friendly, forLife;
      float komi;
      in >> width >> height >> ko >> scoring >> tax >> suicide >> button >> bonus >> friendly >> cleanup >> komi >> forLife;
      board = Board(width, height);
      hist = BoardHistory(board, P_BLACK, Rules(ko, scoring, tax, suicide, button, bonus, friendly, komi), 0, forLife);
      hist.setAssumeMultipleStartingBlackMovesAreHandicap(true);
    }
    else if(word == "handicap") {
      int x, y;
      while(in >> x >> y)
        board.setStone(Location::getLoc(x, y, board.x_size), P_BLACK);
      hist.clear(board, P_WHITE, hist.rules, 0);
      hist.setAssumeMultipleStartingBlackMovesAreHandicap(true);
    }
    else if(word == "play") {
      int colour, x, y;
      in >> colour >> x >> y;
      Loc loc = x < 0 ? Board::PASS_LOC : Location::getLoc(x, y, board.x_size);
      if(!hist.isLegalTolerant(board, loc, (Player)colour)) {
        std::cout << "illegal\n";
        continue;
      }
      hist.makeBoardMoveAssumeLegal(board, loc, (Player)colour, NULL, !cleanup);
    }
    else
      return 1;
    print(board, hist);
  }
  return 0;
}
